import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import HTTPTypes
import Hummingbird
import LibPQClient
import Logging
import ServiceLifecycle
import Social

/// The operators' pages under `/admin`: a library, so that tests drive it without a process.
///
/// `run()` must run for as long as the pages are served: it looks after the stack's health, and does what takes longer
/// than a browser waits.
public struct Dashboard: Service {
  /// What the dashboard is told.
  public struct Configuration: Sendable {
    /// Without them the dashboard is closed.
    public var keys: DashboardKeys?
    /// Where browsers find the API, such as `https://ops.example.org`; nil for whatever host they ask, without TLS.
    public var url: String?
    /// What no page may show: passwords, tokens, keys.
    public var secrets: [String]
    /// Whose word counts for where a request comes from.
    public var proxies: TrustedProxies

    public init(
      keys: DashboardKeys?, url: String? = nil, secrets: [String] = [], proxies: TrustedProxies = .none
    ) {
      self.proxies = proxies
      self.keys = keys
      self.url = url
      self.secrets = secrets
    }
  }

  /// What the pages stand on.
  public struct Services: Sendable {
    public let pool: PostgresPool
    /// Where lists are read that may be a second old; `pool` if nil.
    public let reads: PostgresReads?
    public let redis: RedisClient
    public let broker: RedisBroker
    public let jobs: JobAdmin
    public let schedules: ScheduleAdmin
    public let lookups: LookupRules
    /// The doctor's look at everything.
    public let examine: @Sendable () async -> [Finding]

    public init(
      pool: PostgresPool, reads: PostgresReads? = nil, redis: RedisClient, broker: RedisBroker, jobs: JobAdmin,
      schedules: ScheduleAdmin, lookups: LookupRules, examine: @escaping @Sendable () async -> [Finding]
    ) {
      self.reads = reads
      self.pool = pool
      self.redis = redis
      self.broker = broker
      self.jobs = jobs
      self.schedules = schedules
      self.lookups = lookups
      self.examine = examine
    }
  }

  private let kit: Kit
  private let configuration: Configuration
  private let health: HealthBoard
  private let work: BulkWork
  let table: Routes
  private let gate: Gate?

  /// - Throws: for a template that is not well-formed.
  public init(
    _ configuration: Configuration, _ services: Services, clock: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Date = { JobClock.now }, logger: Logger
  ) throws {
    self.configuration = configuration
    health = HealthBoard(now: now, examine: services.examine)
    work = BulkWork(clock: clock, logger: logger)
    let pages = try Pages(secrets: configuration.secrets)
    // Without keys nobody has a session; what looks for one is not asked.
    let keys = configuration.keys ?? DashboardKeys(full: "")
    let sessions = AdminSessions(pool: services.pool, keys: keys)
    kit = Kit(
      pages: pages, sessions: sessions, reads: services.reads ?? PostgresReads(primary: services.pool, logger: logger),
      now: now)
    gate = configuration.keys.map { _ in Gate(sessions: sessions, origin: configuration.url.map(Self.origin)) }
    var routes = Routes()
    if let gate {
      Self.addPages(to: &routes, kit, gate, keys, configuration, services, health, work, clock)
    }
    for asset in Asset.all {
      routes.open(.get, "assets/\(asset.name)") { _, _ in
        Response(
          status: .ok, headers: [.contentType: asset.type, .cacheControl: "public, max-age=86400"],
          body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
      }
    }
    table = routes
  }

  private static func addPages(
    to routes: inout Routes, _ kit: Kit, _ gate: Gate, _ keys: DashboardKeys, _ configuration: Configuration,
    _ services: Services, _ health: HealthBoard, _ work: BulkWork, _ clock: any Clock<Duration>
  ) {
    let pool = services.pool
    let database = JobsDatabase(pool: pool)
    let jobs = services.jobs
    let figures = Figures(statistics: Statistics(database, now: kit.now))
    let queues = QueueAdmin(database, broker: services.broker, known: jobs.kinds.queues, now: kit.now)
    let workers = WorkerAdmin(database)
    let names = { @Sendable () async throws in try await queues.list().map(\.queue) }
    SignInPages(
      kit: kit, gate: gate, keys: keys, attempts: AttemptBook(pool: pool),
      isSecure: configuration.url?.hasPrefix("https://") == true
    ).add(to: &routes)
    let overview = OverviewDesk(
      queues: queues, workers: workers, figures: figures, health: health,
      alarms: AlarmBook(database, limits: .standard, isDelivered: false), pool: pool, redis: services.redis,
      now: kit.now)
    OverviewPages(kit: kit, desk: overview, streams: LiveStreams(clock: clock)).add(to: &routes)
    QueuePages(kit: kit, queues: queues, figures: figures, work: work).add(to: &routes)
    JobListPages(kit: kit, jobs: jobs, queueNames: names).add(to: &routes)
    JobPages(kit: kit, jobs: jobs).add(to: &routes)
    DeadPages(kit: kit, jobs: jobs, work: work, queueNames: names).add(to: &routes)
    WorkerPages(kit: kit, workers: workers).add(to: &routes)
    SchedulePages(kit: kit, schedules: services.schedules, jobs: jobs).add(to: &routes)
    FanOutPages(kit: kit).add(to: &routes)
    RankingPages(kit: kit).add(to: &routes)
    QuotaPages(kit: kit, pool: pool, rules: services.lookups).add(to: &routes)
    ActionPages(kit: kit).add(to: &routes)
  }

  /// Looks after health and long work until the program is asked to stop.
  public func run() async throws {
    await cancelWhenGracefulShutdown {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await health.run() }
        group.addTask { await work.run() }
      }
    }
  }

  /// All routes: method, path under `/admin`, and who may ask.
  public var routes: [(method: HTTPRequest.Method, path: String, access: DashboardAccess)] {
    table.all.map { ($0.method, $0.path, $0.access) }
  }

  /// - Parameter addMiddleware: what the program puts around all routes, such as its metrics.
  public func responder(
    adding addMiddleware: (Router<AdminContext>) -> Void = { _ in }
  ) -> RouterResponder<AdminContext> {
    let router = Router(context: AdminContext.self)
    addMiddleware(router)
    router.add(middleware: Answers(kit: kit, gate: gate, proxies: configuration.proxies))
    for route in table.all {
      router.on(RouterPath("/admin/\(route.path)"), method: route.method) { [gate] request, context in
        if case .open(let handler) = route.handler, gate == nil { return try await handler(request, context) }
        guard let gate else { throw HTTPError(.notFound) }
        return try await gate.pass(request, context, to: route)
      }
    }
    return router.buildResponder()
  }

  /// Scheme, host and port of a URL, as browsers send them.
  private static func origin(of url: String) -> String {
    let parts = url.split(separator: "/", omittingEmptySubsequences: false)
    return parts.prefix(3).joined(separator: "/")
  }
}

/// Makes a page of every error, closes what has no token, and puts the security headers on every answer.
private struct Answers: RouterMiddleware {
  let kit: Kit
  let gate: Gate?
  let proxies: TrustedProxies

  func handle(
    _ request: Request, context: AdminContext, next: (Request, AdminContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.address = proxies.client(peer: context.peer, forwarded: request.headers[values: .forwardedFor]).key
    var response: Response
    do {
      response = try await next(request, context)
    } catch {
      response = try await page(of: error, request, context)
    }
    response.headers.secure()
    return response
  }

  private func page(of error: any Error, _ request: Request, _ context: AdminContext) async throws -> Response {
    guard let gate else { return closed }
    let refusal = Refusal(error) ?? .internalError
    if refusal.status.code >= 500 {
      context.logger.error(
        "a page could not be served", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
    }
    // Who is signed in keeps the navigation; where even that cannot be found out, the page stands alone.
    let session: AdminSession?
    do { session = try await gate.session(of: request) } catch { session = nil }
    return kit.refusal(refusal, for: session)
  }

  private var closed: Response {
    let message = Kit.Message(
      heading: "The dashboard is closed",
      message: "No admin token is set. Set it for fanmill-api, 16 characters or more, and start it again:",
      settings: "FANMILL_ADMIN_TOKEN=…        # may act\nFANMILL_ADMIN_READ_TOKEN=…   # may look; optional", back: nil,
      backLabel: "")
    return .html(
      kit.pages.render("message", title: "The dashboard is closed", at: nil, for: nil, message), status: .forbidden)
  }
}
