import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import ServiceLifecycle
import Social
import SocialAdmin

/// A worker: runs the app's jobs until it is asked to stop.
@main
struct WorkerProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanmill-worker",
    abstract: "Runs Fanmill's jobs.",
    discussion: """
      SIGTERM stops it in order: no new jobs are taken, those that run get time to finish, the rest is handed back. It \
      exits with 64 for wrong arguments, 69 if Redis or Postgres cannot be reached, 78 for a wrong setting.
      """)

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    try await Program.run("fanmill-worker", options, requiring: [.postgresURL, .redisURL]) { program in
      let mail = try program.settings.mail()
      // Its sessions bear its name, so that others can end them when it is lost.
      let name = Settings.newWorkerName()
      let size = program.settings.workerSize(known: JobKinds.app.queues)
      program.tell(size)
      try await program.withServers(sessionName: name, pool: size.connections.pool, usesReplica: false) { servers in
        try await program.withYouTube(servers) {
          try await serve(program.settings.workerConfiguration(named: name, size), program, servers, $0, mail)
        }
      }
    }
  }

  private func serve(
    _ configuration: WorkerConfiguration, _ program: Program, _ servers: Servers, _ youtube: YouTube,
    _ mail: Settings.Mail?
  ) async throws {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry, youtube: youtube, mailer: mail.map { program.mailer($0, servers) })
    let broker = try await RedisBroker(client: servers.redis, logger: program.logger)
    let ledger = PostgresLedger(servers.database)
    // First, so that it stops last.
    var services = try program.observation(servers, broker: broker)
    services.append(
      Worker(
        broker: broker, ledger: ledger, registry: registry, configuration: configuration,
        workers: PostgresWorkerRegistry(servers.database), logger: program.logger))
    if program.settings.scheduler {
      services.append(
        try Scheduler(
          try SocialSchedules.all(
            feedDays: program.settings.feedDays, rankings: program.settings.rankingRefresh,
            sweep: program.settings.sweep),
          client: JobClient(broker: broker, ledger: ledger, logger: program.logger),
          store: PostgresScheduleStore(servers.database), logger: program.logger))
    }
    if program.settings.workerPort != 0 { services.append(program.health(servers)) }
    try await program.serve(services)
  }
}
