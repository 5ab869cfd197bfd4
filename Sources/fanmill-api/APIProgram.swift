import ArgumentParser
import Bootstrap
import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import FanmillWeb
import Foundation
import Glibc
import HiredisClient
import Hummingbird
import LibPQClient
import Logging
import Migrations
import ServiceLifecycle
import Social
import SocialAPI
import SocialAdmin
import SocialDashboard

/// The HTTP API: accepts clients' requests, and writes them to Postgres together with the jobs that they enqueue. Under
/// `/admin` it serves the operators' dashboard, on a separate port if one is configured.
@main
struct APIProgram: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanmill-api",
    abstract: "Serves the HTTP API, the dashboard, health checks and metrics until it is stopped.",
    discussion: """
      The dashboard is at /admin on FANMILL_ADMIN_PORT, or on the API's port if that is unset. FANMILL_ADMIN_TOKEN \
      opens it, and FANMILL_ADMIN_READ_TOKEN opens it for reading. Exits with 78 for an invalid setting, and with 69 \
      if Redis or Postgres cannot be reached.
      """)

  /// How long a request waits for Redis to return its budget.
  private static let patience = Duration.milliseconds(50)

  @OptionGroup var options: SettingsOptions

  func run() async throws {
    ConnectionMemory.keepTogether()
    try await Program.run("fanmill-api", options, requiring: [.postgresURL, .redisURL]) { program in
      let sendsMail = try program.settings.mail() != nil
      let purchases = try program.settings.purchaseRules()
      try await program.withMediaStore { store in
        let media = MediaShelf(
          store: store, incoming: program.incomingFolder(), quota: program.settings.mediaQuota,
          bytesPerSecond: program.settings.mediaUploadRate)
        try await program.withServers { servers in
          try await program.withTracing {
            try await serve($0, servers, media, purchases, sendsMail: sendsMail)
          }
        }
      }
    }
  }

  private func serve(
    _ program: Program, _ servers: Servers, _ media: MediaShelf, _ purchases: PurchaseRules, sendsMail: Bool
  ) async throws {
    let broker = try await RedisBroker(client: servers.redis, logger: program.logger)
    // Responses are sent once the jobs are in the ledger.
    let pusher = JobPusher(broker: broker, logger: program.logger)
    let jobs = JobClient(
      broker: broker, ledger: PostgresLedger(servers.database), pusher: pusher,
      middleware: program.jobMiddleware, logger: program.logger)
    let admin = JobAdmin(jobs, kinds: .app)
    // The API works without Redis: jobs wait in the ledger.
    let health = Health(
      checks: Health.Check.postgres(servers), degrading: [.redis(servers)], registry: program.registry,
      logger: program.logger)
    let events = EventHub(pool: servers.postgres, logger: program.logger)
    let budgets =
      program.settings.limits
      ? RequestBudgets(
        limits: program.settings.requestLimits,
        buckets: TokenBuckets(
          client: servers.redis, patience: Self.patience, logger: program.logger)) : nil
    let api = SocialAPI(
      jobs: jobs, pool: servers.postgres, reads: servers.reads, hasher: PasswordHasher(), admin: admin,
      adminToken: program.settings.adminToken.map { AdminToken($0.value) },
      adminReadToken: program.settings.adminReadToken.map { AdminToken($0.value) },
      lookups: Lookups(rules: program.settings.lookupRules),
      celebLimit: program.settings.celebLimit,
      certificates: program.settings.certificateKey.map { FanCertificates(secret: $0.value) },
      purchases: purchases,
      agreements: program.settings.agreements
        ? program.settings.certificateKey.map { AgreementSecrets(secret: $0.value) } : nil,
      asksAdults: program.settings.adultStatement,
      sendsMail: sendsMail, confirmsSignUp: program.settings.signUpConfirmation, media: media,
      requestTimeout: program.settings.requestTimeout, proxies: program.settings.trustedProxies,
      feeds: FeedRules(
        pushLimit: program.settings.feedPushLimit, notesReaders: program.settings.feedSleepDays > 0),
      budgets: budgets, cookie: SessionCookie(isSecure: program.settings.publicURL.hasPrefix("https://")),
      events: events)
    let dashboard = try program.dashboard(servers, jobs: admin)
    // The event hub stops first on shutdown, because the server waits for its streams.
    try await program.serve(
      try program.observation(servers, broker: broker) + [pusher, dashboard]
        + program.doors(api, dashboard: dashboard, health: health) + [events])
  }
}

extension Program {
  /// The API's server, and a separate one for operators if `FANMILL_ADMIN_PORT` is set; otherwise the API's port serves
  /// both.
  func doors(_ api: SocialAPI, dashboard: SocialDashboard, health: Health) -> [any Service] {
    let operators: SocialAPI.Doors = settings.adminPort == nil ? [.clients, .operators] : .operators
    var limits = settings.connectionLimits
    limits.proxies = settings.trustedProxies
    let behindAdmin = HTTPService(
      responder: EventStreamResponder(
        Mount(
          dashboard.responder { router in
            router.add(middleware: RequestTracing())
            router.add(middleware: RequestMetrics())
            router.add(middleware: RequestDeadline(settings.requestTimeout))
          },
          beside: api.responder(for: operators) { router in
            health.addRoutes(to: router)
            if operators.contains(.clients) { addWebApp(to: router) }
          })),
      host: settings.host, port: settings.adminPort ?? settings.apiPort,
      setting: settings.adminPort == nil ? .apiPort : .adminPort, limits: limits, logger: logger)
    guard settings.adminPort != nil else { return [behindAdmin] }
    let clients = HTTPService(
      responder: EventStreamResponder(
        api.responder(for: .clients) { router in
          health.addHealth(to: router)
          addWebApp(to: router)
        }),
      host: settings.host, port: settings.apiPort, setting: .apiPort, limits: limits,
      logger: logger)
    return [behindAdmin, clients]
  }

  private func addWebApp(to router: Router<APIContext>) {
    if settings.web { WebApp.addRoutes(to: router) }
  }
}

extension Program {
  /// The folder for uploads in progress: beside the pictures if they are in a folder, so that uploads stay on one disk.
  ///
  /// An API with an unwritable folder serves everything but uploads.
  func incomingFolder() -> String {
    let folder = settings.mediaURL == nil ? settings.mediaDir : NSTemporaryDirectory()
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o750])
      if access(folder, W_OK | X_OK) == 0 { return folder }
      logger.warning("uploads will fail: this user cannot write FANMILL_MEDIA_DIR", metadata: ["folder": "\(folder)"])
    } catch {
      logger.warning(
        "uploads will fail: cannot create FANMILL_MEDIA_DIR", metadata: ["folder": "\(folder)", "error": "\(error)"])
    }
    return folder
  }
}

extension Program {
  /// The operators' pages, closed if no admin token is configured.
  func dashboard(_ servers: Servers, jobs: JobAdmin) throws -> SocialDashboard {
    let keys = settings.adminToken.map { DashboardKeys(full: $0.value, readOnly: settings.adminReadToken?.value) }
    let rankings = RankingRefresh(
      depth: settings.rankingDepth, timeZone: settings.rankingTimeZone, historyDays: settings.rankingHistory,
      pointDays: settings.rankingPoints)
    let schedules = try SocialSchedules.all(
      feedDays: settings.feedDays, feedSleepDays: settings.feedSleepDays, rankings: rankings,
      webhookDays: settings.webhooksDays)
    let doctor = try doctor(migrations: migrations(), kinds: jobs.kinds)
    return try SocialDashboard(
      SocialDashboard.Configuration(
        keys: keys, url: settings.adminURL, secrets: settings.secrets, proxies: settings.trustedProxies,
        terms: Program.terms),
      jobs: jobs, schedules: ScheduleAdmin(schedules, database: servers.database), reads: servers.reads,
      lookups: settings.lookupRules, examine: doctor.examine, logger: logger)
  }

  /// This program's migrations; nil if their files are missing, so that the doctor cannot compare.
  private func migrations() -> [Migration]? {
    do {
      return try Migration.all(in: ProgramFiles.migrations())
    } catch {
      logger.debug("the dashboard does not check migrations", metadata: ["reason": "\(error)"])
      return nil
    }
  }
}
