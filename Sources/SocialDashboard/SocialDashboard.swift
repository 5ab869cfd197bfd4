import DurableJobs
import DurableJobsAdmin
import DurableJobsDashboard
import DurableJobsPostgres
import DurableJobsRedis
import Hummingbird
import LibPQClient
import Logging
import ServiceLifecycle
import Social
import SocialAdmin

/// The operators' pages under `/admin`: the queue's dashboard with the app's pages, opened with the admin tokens. It is
/// a library, so that tests run it without a process.
///
/// `run()` must be running while the pages are served.
public struct SocialDashboard: Service {
  /// The path that it is mounted at.
  static let path = "/admin"

  /// The app's settings for it.
  public struct Configuration: Sendable {
    /// nil closes the dashboard.
    public var keys: DashboardKeys?
    /// The API's URL for browsers, such as `https://ops.example.org`; nil for any host, without TLS.
    public var url: String?
    /// Strings that no page may show: passwords, tokens, keys.
    public var secrets: [String]
    /// The proxies trusted to name a request's origin.
    public var proxies: TrustedProxies
    /// The program's names for its commands and workers.
    public var terms: DoctorTerms

    public init(
      keys: DashboardKeys?, url: String? = nil, secrets: [String] = [], proxies: TrustedProxies = .none,
      terms: DoctorTerms = DoctorTerms()
    ) {
      self.keys = keys
      self.url = url
      self.secrets = secrets
      self.proxies = proxies
      self.terms = terms
    }
  }

  let dashboard: Dashboard
  private let access: AdminAccess
  private let proxies: TrustedProxies

  /// - Parameters:
  ///   - reads: serves lists that may be a second old; the jobs' own database if nil.
  ///   - examine: runs the doctor's checks.
  /// - Throws: if a template is malformed.
  public init(
    _ configuration: Configuration, jobs: JobAdmin, schedules: ScheduleAdmin, reads: PostgresReads? = nil,
    lookups: LookupRules, examine: @escaping @Sendable () async -> [Finding], logger: Logger
  ) throws {
    let pool = jobs.database.pool
    let sessions = configuration.keys.map { AdminSessions(pool: pool, keys: $0) }
    access = AdminAccess(sessions: sessions)
    proxies = configuration.proxies
    var own = Dashboard.Configuration()
    own.brand = "Fanmill"
    own.url = configuration.url
    own.urlSetting = "FANMILL_ADMIN_URL"
    own.secrets = configuration.secrets
    own.terms = configuration.terms
    let client = JobClient(broker: jobs.broker, ledger: PostgresLedger(jobs.database), logger: logger)
    var pages: [any DashboardPages] = [
      FanOutPages(), RankingPages(), QuotaPages(pool: pool, rules: lookups),
      AccountPages(accounts: AccountAdmin(jobs.database), jobs: client),
      ReportPages(safety: SafetyAdmin(jobs.database), jobs: client),
      PicturePages(media: MediaAdmin(jobs.database), jobs: client),
      WebhookPages(webhooks: WebhookAdmin(jobs.database), jobs: client),
    ]
    if let sessions {
      pages.append(
        SignInPages(
          sessions: sessions, attempts: AttemptBook(pool: pool),
          isSecure: configuration.url?.hasPrefix("https://") == true))
    }
    dashboard = try Dashboard(
      jobs: jobs, schedules: schedules, reads: reads, configuration: own, pages: pages, examine: examine,
      logger: logger)
  }

  /// Runs health checks and long operations until shutdown.
  public func run() async throws { try await dashboard.run() }

  /// - Parameter addMiddleware: adds the program's middleware around all routes, such as its metrics.
  public func responder(
    adding addMiddleware: (Router<AdminContext>) -> Void = { _ in }
  ) -> RouterResponder<AdminContext> {
    let router = Router(context: AdminContext.self)
    addMiddleware(router)
    router.add(middleware: ClientAddressing(proxies: proxies))
    dashboard.mount(on: router, at: Self.path) { [access] request, _ in try await access.decide(request) }
    return router.buildResponder()
  }
}
