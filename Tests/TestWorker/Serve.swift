import ArgumentParser
import Bootstrap
@_spi(Testing) import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Logging
import ServiceLifecycle
import Social

/// Runs the app's jobs, and a job whose effects can be counted and which stops where a test wants it to.
struct Serve: AsyncParsableCommand {
  @OptionGroup var options: SettingsOptions

  @Option(help: "The advisory lock that acknowledging waits for, so that a test can hold it up.")
  var acknowledgeGate: Int?

  @Option(help: "Takes part in firing a schedule that counts an effect every so many milliseconds.")
  var tickEvery: Int?

  @Option(help: "Sets the process' clock wrong by so many seconds.")
  var clockAhead: Int?

  @Flag(help: "Claims more than runs from the beginning on, as where jobs are known to be fast.")
  var claimsAhead = false

  @Option(help: "The worker's name, which no worker had before; drawn if it is left out.")
  var name: String?

  func run() async throws {
    if let clockAhead { JobClock.misset(by: .seconds(clockAhead)) }
    try await Program.run("test-worker", options, requiring: [.postgresURL, .redisURL], logLevel: .warning) { program in
      let name = name ?? "worker-\(JobID.next())"
      try await program.withServers(sessionName: name) { servers in
        var registry = JobRegistry<PostgresLedger>()
        SocialJobs.register(in: &registry)
        registry.register(CountEffect.self, handler: CountEffect.run)
        registry.register(LargeEffect.self, handler: LargeEffect.run)
        let concurrency = program.settings.workerConcurrency
        var configuration = WorkerConfiguration(
          queues: Dictionary(uniqueKeysWithValues: registry.queues.map { ($0, concurrency) }), name: name)
        configuration.shutdownLimit = program.settings.shutdownTimeout
        configuration.reportInterval = .milliseconds(50)
        if claimsAhead { configuration.assumedJobTime = .milliseconds(1) }
        let broker = GatedBroker(
          base: try await RedisBroker(client: servers.redis, logger: program.logger),
          gate: acknowledgeGate.map { Gate(key: $0, pool: servers.postgres) })
        let ledger = PostgresLedger(pool: servers.postgres)
        var services: [any Service] = [
          program.clockWatch(servers.database),
          Worker(
            broker: broker, ledger: ledger, registry: registry, configuration: configuration,
            workers: PostgresWorkerRegistry(pool: servers.postgres), logger: program.logger),
        ]
        if let tickEvery {
          let ticks = Schedule("test.ticks", try .every(.milliseconds(tickEvery)), missed: .all) { tick in
            CountEffect(number: Int(tick.time.unixMilliseconds))
          }
          services.append(
            try Scheduler(
              [ticks], client: JobClient(broker: broker, ledger: ledger, logger: program.logger),
              store: PostgresScheduleStore(pool: servers.postgres), logger: program.logger))
        }
        try await program.serve(services)
      }
    }
  }
}
