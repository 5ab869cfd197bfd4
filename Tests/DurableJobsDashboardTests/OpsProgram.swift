import DurableJobs
import DurableJobsAdmin
import DurableJobsDashboard
import DurableJobsPostgres
import HTTPTypes
import Hummingbird
import JobsTestSupport
import Locking
import Logging
import ProgramTestSupport
import TestSupport

/// A program with its own router and jobs, which mounts the dashboard as an outside package does.
struct OpsProgram: Sendable {
  static let secret = "a secret of the settings"

  let stack: TestStack
  let dashboard: Dashboard
  let reports: ReportPages
  /// Each user's access; an unknown user is redirected to the program's own sign-in page.
  let roles: Locked<[String: DashboardAccess]>
  /// The routes that the program's middleware saw.
  let routes: Locked<[String]>
  private let responder: RouterResponder<OpsContext>

  static func with(
    at path: String = "/ops", configuration: Dashboard.Configuration = Dashboard.Configuration(),
    findings: [Finding] = [], _ body: @Sendable (OpsProgram) async throws -> Void
  ) async throws {
    try await TestStack.with { stack in
      let program = try OpsProgram(stack, at: path, configuration, findings)
      try await RunningWorker.run(program.dashboard) { _ in try await body(program) }
    }
  }

  private init(
    _ stack: TestStack, at path: String, _ configuration: Dashboard.Configuration, _ findings: [Finding]
  ) throws {
    self.stack = stack
    reports = ReportPages()
    roles = Locked(["ann": .act(as: "ann"), "bob": .read(as: "bob"), "mallory": .refused])
    routes = Locked([])
    var configuration = configuration
    configuration.secrets = [Self.secret]
    dashboard = try Self.dashboard(stack, configuration, findings, [reports])
    let router = Router(context: OpsContext.self)
    router.add(middleware: RouteRecorder(routes: routes))
    router.get("/hello") { _, _ in "hello" }
    let group = router.group().add(middleware: UserReader())
    dashboard.mount(on: group, at: path) { [roles] _, context in
      guard let access = roles.withLock({ $0[context.user ?? ""] }) else {
        return .answer(.redirect(to: "/sign-in"))
      }
      return access
    }
    responder = router.buildResponder()
  }

  private static func dashboard(
    _ stack: TestStack, _ configuration: Dashboard.Configuration, _ findings: [Finding], _ pages: [any DashboardPages]
  ) throws -> Dashboard {
    var registry = JobRegistry<PostgresLedger>()
    registry.register(SendInvoice.self) { _, _ in }
    let schedule = Schedule("invoices.nightly", try .every(.seconds(3600))) { _ in SendInvoice(order: 1) }
    return try Dashboard(
      jobs: JobAdmin(stack.client, kinds: JobKinds(registry)),
      schedules: ScheduleAdmin([schedule], database: stack.database), configuration: configuration, pages: pages,
      examine: { findings }, logger: .quiet)
  }

  /// Another dashboard over the same servers, which is not run.
  @discardableResult
  func dashboard(adding pages: any DashboardPages...) throws -> Dashboard {
    try Self.dashboard(stack, Dashboard.Configuration(), [], pages)
  }

  func send(_ request: Request) async throws -> Response {
    do {
      return try await responder.respond(to: request, context: OpsContext(source: OpsContext.Source(logger: .quiet)))
    } catch let error as HTTPError {
      return Response(status: error.status)
    }
  }

  /// Adds dead letters and waiting jobs, and a worker that runs one.
  func addJobs() async throws {
    let pending = record(), dead = record()
    try await stack.ledger.withTransaction { _ = try await stack.ledger.add([pending, dead], in: $0) }
    try await stack.ledger.deadLetter([
      DeadJob(
        record: dead, attempts: 3,
        failure: JobFailure(
          attempt: 3, at: .init(unixMilliseconds: dead.id.milliseconds), error: "no printer", worker: "w1"))
    ])
  }

  private func record() -> JobRecord {
    JobRecord(kind: SendInvoice.kind, queue: "invoices", payload: Array(#"{"order":1}"#.utf8), isDurable: true)
  }
}

/// The program's one job.
struct SendInvoice: Job {
  static let kind: JobKind = "invoices.send"
  static let queue: QueueName = "invoices"
  var order: Int
}

/// The program's context, which identifies the user.
struct OpsContext: RequestContext {
  struct Source: RequestContextSource {
    let logger: Logger
  }

  var coreContext: CoreRequestContextStorage
  var user: String?

  init(source: Source) { coreContext = CoreRequestContextStorage(source: source) }
}

/// Signs in the user named by a header.
private struct UserReader: RouterMiddleware {
  func handle(
    _ request: Request, context: OpsContext, next: (Request, OpsContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.user = request.headers[.from]
    return try await next(request, context)
  }
}

/// Records the routes that metrics would use as labels.
private struct RouteRecorder: RouterMiddleware {
  let routes: Locked<[String]>

  func handle(
    _ request: Request, context: OpsContext, next: (Request, OpsContext) async throws -> Response
  ) async throws -> Response {
    let response = try await next(request, context)
    routes.withLock { $0.append(context.endpointPath ?? "") }
    return response
  }
}
