import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient
import Logging
import ServiceLifecycle

/// The queue's pages for operators, for any Hummingbird router: waiting, running and failed jobs, and actions on them.
///
/// ```swift
/// let dashboard = try Dashboard(jobs: jobs, schedules: schedules, pages: [ReportPages()], logger: logger)
/// dashboard.mount(on: router, at: "/ops") { request, context in
///   guard let user = context.identity else { return .answer(.redirect(to: "/sign-in")) }
///   return user.isAdmin ? .act(as: user.name) : .read(as: user.name)
/// }
/// ```
///
/// `run()` must run for as long as the pages are served: it monitors the stack's health, and runs actions that take
/// longer than a browser waits.
public struct Dashboard: Service {
  private let kit: Kit
  private let health: HealthBoard
  private let work: BulkWork
  private let streams: LiveStreams
  let routes: DashboardRoutes

  /// - Parameters:
  ///   - jobs: of the program's registry; they give access to the queue's servers.
  ///   - reads: the database for lists that may be a second old; the jobs' own database if nil.
  ///   - pages: the program's own pages, in the menu before the actions.
  ///   - examine: the overview's findings about the servers, such as `Doctor.examine`; none by default.
  ///   - clock: measures how long a browser waits.
  /// - Throws: for a malformed template, and for two with the same name.
  public init(
    jobs: JobAdmin, schedules: ScheduleAdmin, reads: PostgresReads? = nil,
    configuration: Configuration = Configuration(), pages: [any DashboardPages] = [],
    examine: @escaping @Sendable () async -> [Finding] = { [] }, clock: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Date = { JobClock.now }, logger: Logger
  ) throws {
    health = HealthBoard(now: now, examine: examine)
    work = BulkWork(clock: clock, now: now, logger: logger)
    streams = LiveStreams(clock: clock)
    let own = Self.pages(jobs, schedules, configuration.terms, pages, health, work, now)
    let all = own + pages + [ActionPages()]
    kit = Kit(
      renderer: try Renderer(brand: configuration.brand, pages: all, secrets: configuration.secrets),
      database: jobs.database, reads: reads ?? PostgresReads(primary: jobs.database.pool, logger: logger), pages: all,
      now: now, terms: configuration.terms, origin: configuration.origin, originSetting: configuration.urlSetting)
    var routes = DashboardRoutes()
    for pages in all { pages.add(to: &routes) }
    for asset in Asset.all {
      routes.open(.get, "assets/\(asset.name)") { _ in
        Response(
          status: .ok, headers: [.contentType: asset.type, .cacheControl: "public, max-age=86400"],
          body: ResponseBody(byteBuffer: ByteBuffer(bytes: asset.bytes)))
      }
    }
    self.routes = routes
  }

  private static func pages(
    _ jobs: JobAdmin, _ schedules: ScheduleAdmin, _ terms: DoctorTerms, _ more: [any DashboardPages],
    _ health: HealthBoard, _ work: BulkWork, _ now: @escaping @Sendable () -> Date
  ) -> [any DashboardPages] {
    let database = jobs.database
    let figures = Figures(statistics: Statistics(database, now: now))
    let queues = QueueAdmin(database, broker: jobs.broker, known: jobs.kinds.queues, now: now)
    let workers = WorkerAdmin(database)
    let names = { @Sendable () async throws in try await queues.list().map(\.queue) }
    let overview = OverviewReader(
      queues: queues, workers: workers, figures: figures, health: health,
      alarms: AlarmBook(database, limits: .standard, isDelivered: false), pool: database.pool,
      redis: jobs.broker.client, now: now, terms: terms,
      address: { finding in more.lazy.compactMap { $0.address(ofFinding: finding) }.first })
    return [
      OverviewPages(reader: overview),
      QueuePages(queues: queues, figures: figures, work: work),
      JobListPages(jobs: jobs, work: work, queueNames: names),
      JobPages(jobs: jobs),
      DeadPages(jobs: jobs, work: work, queueNames: names),
      WorkerPages(workers: workers, terms: terms),
      SchedulePages(schedules: schedules, jobs: jobs),
    ]
  }

  /// Monitors health and runs background work until the program is asked to stop.
  public func run() async throws {
    await cancelWhenGracefulShutdown {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await health.run() }
        group.addTask { await work.run() }
      }
    }
  }

  // MARK: Mounting

  /// Serves the pages under a path of a router, beside its other routes. The router's middleware that was added before
  /// runs around them.
  ///
  /// - Parameters:
  ///   - router: the router, or a group of it without a path.
  ///   - path: the path that browsers request, such as `/ops`; every link of the pages begins with it.
  ///   - access: identifies each request's visitor and decides what the visitor may do. It is not called for style
  ///     sheets and scripts, nor for routes that are open in `DashboardRoutes`. A stream of live updates calls it every
  ///     two seconds.
  public func mount<Context: RequestContext>(
    on router: some RouterMethods<Context>, at path: String,
    access: @escaping @Sendable (Request, Context) async throws -> DashboardAccess
  ) {
    let mount = MountPath(path)
    let responder = responder(at: mount)
    for method in [.get, .head, .post, .put, .patch, .delete, .options] as [HTTPRequest.Method] {
      for path in [mount.home, mount.base + "/**"] {
        router.on(RouterPath(path), method: method) { [kit] request, context in
          let cookies = CookieMemory(request, at: mount, isSecure: kit.isSecure)
          let admission = Admission(cookies: cookies) { try await access(request, context) }
          return try await responder.respond(
            to: request, context: RouteContext(source: RouteContext.Source(outer: context, admission: admission)))
        }
      }
    }
  }

  private func responder(at mount: MountPath) -> RouterResponder<RouteContext> {
    let router = Router(context: RouteContext.self)
    router.add(middleware: Answers(kit: kit, mount: mount))
    let gate = Gate(kit: kit, mount: mount, streams: streams)
    for route in routes.all {
      router.on(RouterPath(mount.link(route.path)), method: route.method) { request, context in
        try await gate.pass(request, context, to: route)
      }
    }
    return router.buildResponder()
  }
}
