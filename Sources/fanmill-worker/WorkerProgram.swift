import ArgumentParser
import Bootstrap
import CurlClient
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Glibc
import HiredisClient
import LibPQClient
import Logging
import Reactor
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
      SIGTERM stops it gracefully: it claims no more jobs, gives running jobs time to finish, and hands back the rest. \
      It exits with 64 for invalid arguments, 69 if Redis or Postgres cannot be reached, 78 for an invalid setting.
      """)

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    try await Program.run("fanmill-worker", options, requiring: [.postgresURL, .redisURL]) { program in
      let mail = try program.settings.mail()
      // The worker's sessions carry its name, so that others can end them when it is lost.
      let name = Settings.newWorkerName()
      let queues = try program.servedQueues()
      let size = program.settings.workerSize(known: queues)
      program.tell(size)
      try await program.withServers(sessionName: name, pool: size.connections.pool, usesReplica: false) { servers in
        try await program.withMediaStore { store in
          try await program.withTracing { program in
            var configuration = program.settings.workerConfiguration(named: name, size)
            configuration.middleware += program.jobMiddleware
            try await program.withYouTube(servers) { [configuration] youtube, client in
              try await program.withWebhooks(size) { webhooks in
                try await serve(configuration, program, servers, youtube, client, mail, store, webhooks)
              }
            }
          }
        }
      }
    }
  }

  private func serve(
    _ configuration: WorkerConfiguration, _ program: Program, _ servers: Servers, _ youtube: YouTube,
    _ client: HTTPClient, _ mail: Settings.Mail?, _ store: any MediaStore, _ webhooks: WebhookSender?
  ) async throws {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(
      in: &registry, youtube: youtube, mailer: mail.map { program.mailer($0, servers) }, store: store,
      studio: try program.pictureStudio(store), cards: try program.cardStudio(client), webhooks: webhooks)
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
            feedDays: program.settings.feedDays, feedSleepDays: program.settings.feedSleepDays,
            rankings: program.settings.rankingRefresh,
            sweep: program.settings.sweep, webhookDays: program.settings.webhooksDays),
          client: JobClient(
            broker: broker, ledger: ledger, middleware: program.jobMiddleware, logger: program.logger),
          store: PostgresScheduleStore(servers.database), logger: program.logger))
    }
    if program.settings.workerPort != 0 { services.append(program.health(servers)) }
    try await program.serve(services)
  }
}

extension Settings {
  /// A name that no other worker has or had.
  static func newWorkerName() -> String { "\(hostName)-\(getpid())-\(JobID.next().low % 0x10000)" }

  /// The worker's configuration.
  func workerConfiguration(named name: String, _ size: WorkerSize) -> WorkerConfiguration {
    var configuration = WorkerConfiguration(queues: size.concurrency, name: name)
    configuration.connections = size.connections
    configuration.shutdownLimit = shutdownTimeout
    configuration.host = Self.hostName
    configuration.version = Program.version
    return configuration
  }

  /// The job that creates a snapshot of the rankings.
  var rankingRefresh: RankingRefresh {
    RankingRefresh(
      depth: rankingDepth, timeZone: rankingTimeZone, historyDays: rankingHistory, pointDays: rankingPoints)
  }

  /// The host's name as operators know it.
  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "worker" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

extension Program {
  /// The queues that this worker serves; the picture queue only if the machine has the required programs.
  ///
  /// - Throws: ``SettingsError`` if the settings name a queue that it cannot serve.
  func servedQueues() throws -> [QueueName] {
    let all = JobKinds.app.queues
    if try pictureWorkshop() != nil { return all }
    let reason = "\(PictureWorkshop.vips) was not found: Debian's libvips-tools has it"
    if settings.queues?.contains(where: { $0.name == SocialJobs.pictureQueue }) == true {
      throw settings.refusal(of: .queues, value: SocialJobs.pictureQueue.rawValue, because: reason)
    }
    logger.warning("pictures are left to other workers", metadata: ["reason": "\(reason)"])
    return all.filter { $0 != SocialJobs.pictureQueue }
  }

  /// The picture workshop; nil if the machine lacks the required programs.
  ///
  /// - Throws: ``SettingsError`` if this worker cannot move a decoder into the configured control group.
  private func pictureWorkshop() throws -> PictureWorkshop? {
    let group = settings.mediaControlGroup.map(ControlGroup.init)
    if let group, !group.isJoinable {
      throw settings.refusal(
        of: .mediaControlGroup, value: group.path,
        because: "cgroup.procs does not exist, or this user cannot write it: create the group, or correct the path")
    }
    let workshop = PictureWorkshop(controlGroup: group)
    return workshop.isAvailable ? workshop : nil
  }

  /// The picture studio; nil if the machine lacks the required programs.
  func pictureStudio(_ store: any MediaStore) throws -> PictureStudio? {
    guard let workshop = try pictureWorkshop() else { return nil }
    if ConfinedProcess.landlockVersion == 0 {
      logger.warning("this kernel lacks Landlock: a compromised decoder can read every file that this worker can")
    }
    let studio = PictureStudio(store: store, workshop: workshop)
    do {
      try studio.removeLeftovers()
    } catch {
      // Another worker may have removed them already, or they may belong to another user.
      logger.warning("could not remove what a killed worker left behind", metadata: ["error": "\(error)"])
    }
    return studio
  }

  /// The studio for certificates' cards; nil if the machine lacks the required programs.
  func cardStudio(_ client: HTTPClient) throws -> CardStudio? {
    guard let workshop = try pictureWorkshop() else { return nil }
    return CardStudio(workshop: workshop, address: settings.publicURL, client: client, logger: logger)
  }

  /// Logs the worker's concurrency and number of connections; warns if jobs will wait for a connection.
  func tell(_ size: WorkerSize) {
    let (concurrency, connections) = (size.totalConcurrency, size.connections)
    if size.fits {
      logger.info(
        """
        up to \(concurrency) jobs at once; at most \(connections.total) connections to Postgres, \(connections.pool) of \
        them pooled
        """)
    } else {
      logger.warning(
        """
        up to \(concurrency) jobs at once share \(connections.pool) connections to Postgres and wait for one another: \
        unset FANMILL_POSTGRES_POOL, or set it to \(WorkerConnections.pool(for: connections.jobs))
        """)
    }
  }

  /// A server for health and metrics.
  func health(_ servers: Servers) -> any Service {
    Health(checks: Health.Check.all(servers), registry: registry, logger: logger)
      .service(host: settings.host, port: settings.workerPort, limits: settings.connectionLimits)
  }

  /// Sends mail to accounts' owners.
  func mailer(_ mail: Settings.Mail, _ servers: Servers) -> Mailer {
    let post = MailPost(mail.destination, logger: logger)
    return Mailer(
      pool: servers.postgres, from: mail.from, resetLink: mail.resetLink, confirmationLink: mail.confirmationLink,
      deletionLink: mail.deletionLink,
      exportLink: TokenLink("\(settings.publicURL)/v1/account-exports/\(TokenLink.place)")
    ) { try await post.send($0) }
  }
}

extension Program {
  /// Runs `body` with a YouTube client on a separate loop, so that encryption does not delay statements.
  ///
  /// - Throws: if the URL in the settings is unusable, and any error that `body` throws.
  func withYouTube(_ servers: Servers, _ body: (YouTube, HTTPClient) async throws -> Void) async throws {
    let loop = EventLoop(name: "fanmill-http")
    defer { loop.stop() }
    let client = try HTTPClient(configuration: YouTubeHTTP.configuration, loop: loop, logger: logger)
    guard let transport = YouTubeHTTP(url: settings.youtubeURL, client: client) else {
      throw settings.refusal(of: .youtubeURL, value: settings.youtubeURL, because: "not the URL of a server")
    }
    let youtube = YouTube(
      transport: transport, rules: settings.lookupRules, pool: servers.postgres, logger: logger)
    do {
      try await body(youtube, client)
    } catch {
      await client.close()
      throw error
    }
    await client.close()
  }
}

extension Program {
  /// Runs `body` with a sender of webhooks on a separate loop, so that a flood of slow receivers delays nothing else;
  /// nil without a key for their secrets.
  func withWebhooks(_ size: WorkerSize, _ body: (WebhookSender?) async throws -> Void) async throws {
    guard settings.certificateKey != nil else { return try await body(nil) }
    let loop = EventLoop(name: "fanmill-hooks")
    defer { loop.stop() }
    let client = try HTTPClient(
      configuration: WebhookSender.configuration(allowsPrivate: settings.webhooksPrivate), loop: loop, logger: logger)
    do {
      try await body(try webhookSender(client, concurrency: size.concurrency[SocialJobs.webhookQueue] ?? 1))
    } catch {
      await client.close()
      throw error
    }
    await client.close()
  }
}
