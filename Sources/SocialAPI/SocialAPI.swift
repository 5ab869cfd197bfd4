import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Hummingbird
import LibPQClient
import Social

/// The HTTP API under `/v1`. It is a library, so that tests run it without a process.
public struct SocialAPI: Sendable {
  private let jobs: AppJobs
  private let pool: PostgresPool
  private let reads: any SocialReader
  private let hasher: PasswordHasher
  private let adminToken: AdminToken?
  private let adminReadToken: AdminToken?
  private let admin: JobAdmin
  private let lookups: Lookups
  private let celebLimit: Int
  private let certificates: FanCertificates?
  private let purchases: PurchaseRules
  private let agreements: AgreementSecrets?
  private let asksAdults: Bool
  private let events: EventHub
  private let sendsMail: Bool
  private let confirmsSignUp: Bool
  private let attempts: AttemptBook
  private let budgets: RequestBudgets?
  private let proxies: TrustedProxies
  private let media: MediaShelf?
  private let requestTimeout: Duration
  private let feeds: FeedRules
  private let cookie: SessionCookie

  /// - Parameters:
  ///   - pool: the pool of `jobs`' ledger.
  ///   - reads: serves reads that may be a second old: the public feed, account search, rankings; `pool` if nil.
  ///     Clients read their own writes from `pool`.
  ///   - desk: serves the operators' routes.
  ///   - adminToken: opens the operators' routes; nil closes them.
  ///   - adminReadToken: opens the read-only ones.
  ///   - lookups: looks up channels; without an API key, in stored data only.
  ///   - celebLimit: the maximum number of celebs for an account without a limit of its own.
  ///   - certificates: issues fans' certificates; nil disables them.
  ///   - purchases: the trusted stores.
  ///   - agreements: the secrets that protect meetings and backups; nil disables agreements.
  ///   - asksAdults: whether a new account's owner must state to be an adult.
  ///   - sendsMail: whether the workers send mail; without it, no password resets are mailed.
  ///   - confirmsSignUp: whether a new account can sign in only after confirming its address.
  ///   - attempts: counts guesses at passwords and tokens.
  ///   - proxies: the proxies trusted to name a request's origin.
  ///   - budgets: hourly limits per account and client; nil for none.
  ///   - media: stores pictures; nil disables them.
  ///   - feeds: which authors' posts are pushed, and whether inactive readers' feeds are put to sleep.
  ///   - requestTimeout: how long a request may wait for the servers.
  ///   - cookie: keeps the sessions of browsers.
  ///   - events: notifies listeners; its `run()` must be running.
  public init(
    jobs: AppJobs, pool: PostgresPool, reads: (any SocialReader)? = nil, hasher: PasswordHasher, admin: JobAdmin,
    adminToken: AdminToken?, adminReadToken: AdminToken? = nil,
    lookups: Lookups = Lookups(rules: LookupRules(keys: [])), celebLimit: Int = Celebs.usualLimit,
    certificates: FanCertificates? = nil, purchases: PurchaseRules = PurchaseRules(),
    agreements: AgreementSecrets? = nil, asksAdults: Bool = false, sendsMail: Bool = false,
    confirmsSignUp: Bool = false,
    media: MediaShelf? = nil, requestTimeout: Duration = .seconds(5), attempts: AttemptBook? = nil,
    proxies: TrustedProxies = .none, feeds: FeedRules = FeedRules(),
    budgets: RequestBudgets? = nil,
    cookie: SessionCookie = SessionCookie(isSecure: false), events: EventHub
  ) {
    self.feeds = feeds
    self.events = events
    self.cookie = cookie
    self.requestTimeout = requestTimeout
    self.sendsMail = sendsMail
    self.confirmsSignUp = confirmsSignUp
    self.media = media
    self.budgets = budgets
    self.proxies = proxies
    self.attempts = attempts ?? AttemptBook(pool: pool)
    self.lookups = lookups
    self.celebLimit = celebLimit
    self.certificates = certificates
    self.purchases = purchases
    self.agreements = agreements
    self.asksAdults = asksAdults
    self.admin = admin
    self.jobs = jobs
    self.pool = pool
    self.reads = reads ?? pool
    self.hasher = hasher
    self.adminToken = adminToken
    self.adminReadToken = adminReadToken
  }

  /// The groups of routes that a port serves.
  public struct Doors: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// The app's routes.
    public static let clients = Doors(rawValue: 1)
    /// `jobs` and `autoscaling`. A port without this group accepts no operators' tokens.
    public static let operators = Doors(rawValue: 2)
  }

  /// - Parameters:
  ///   - doors: the groups of routes to serve.
  ///   - addRoutes: adds the program's routes, such as its health check.
  public func responder(
    for doors: Doors = [.clients, .operators], adding addRoutes: (Router<APIContext>) -> Void = { _ in }
  ) -> RouterResponder<APIContext> {
    router(for: doors, adding: addRoutes).buildResponder()
  }

  /// The routes, before they are fixed.
  func router(
    for doors: Doors = [.clients, .operators], adding addRoutes: (Router<APIContext>) -> Void = { _ in }
  ) -> Router<APIContext> {
    let router = Router(context: APIContext.self)
    router.add(middleware: RequestTracing())
    router.add(middleware: RequestMetrics())
    router.add(middleware: RequestDeadline(requestTimeout))
    addRoutes(router)
    router.add(middleware: ProblemMiddleware(cookie: cookie))
    router.add(middleware: ClientIdentification(proxies: proxies, cookie: cookie))
    if doors.contains(.clients) {
      DocumentRoutes().add(to: router)
      certificateRoutes.addKeys(to: router)
      if let media { PictureRoutes(pool: pool, shelf: media).add(to: router) }
      ownAccountRoutes.addOwn(to: router.group("v1"))
      FeedRoutes(jobs: jobs, pool: pool, reads: reads, rules: feeds).add(to: router.group("v1"))
      SearchRoutes(pool: pool, reads: reads).add(to: router.group("v1"))
      addClientRoutes(
        to: router.group("v1").add(middleware: Authentication(pool: pool))
          .add(middleware: BudgetMiddleware(budgets: budgets)))
    }
    if doors.contains(.operators) {
      let group = router.group("v1").add(
        middleware: AdminAuthentication(
          pool: pool, adminToken: adminToken, adminReadToken: adminReadToken, attempts: attempts))
      JobRoutes(admin: admin).add(to: group)
      AutoscalingRoutes(database: jobs.ledger.database).add(to: group)
    }
    return router
  }

  private var ownAccountRoutes: OwnAccountRoutes {
    OwnAccountRoutes(jobs: jobs, pool: pool, hasher: hasher, attempts: attempts, sendsMail: sendsMail, cookie: cookie)
  }

  private var certificateRoutes: CertificateRoutes {
    CertificateRoutes(jobs: jobs, pool: pool, certificates: certificates)
  }

  private func addClientRoutes(to group: RouterGroup<APIContext>) {
    AccountRoutes(
      jobs: jobs, pool: pool, hasher: hasher, attempts: attempts, confirmsSignUp: confirmsSignUp,
      asksAdults: asksAdults, cookie: cookie
    ).add(to: group)
    ownAccountRoutes.add(to: group)
    EmailConfirmationRoutes(jobs: jobs, pool: pool, attempts: attempts, sendsMail: sendsMail).add(to: group)
    PasswordResetRoutes(jobs: jobs, pool: pool, attempts: attempts, hasher: hasher, sendsMail: sendsMail).add(to: group)
    UserRoutes(jobs: jobs, pool: pool).add(to: group)
    BlockRoutes(jobs: jobs, pool: pool).add(to: group)
    SafetyRoutes(jobs: jobs, pool: pool).add(to: group)
    PostRoutes(jobs: jobs, pool: pool, feeds: feeds).add(to: group)
    if let media {
      MediaRoutes(jobs: jobs, pool: pool, shelf: media).add(to: group)
      AccountExportRoutes(jobs: jobs, pool: pool, attempts: attempts, shelf: media, sendsMail: sendsMail).add(to: group)
    }
    LikeRoutes(jobs: jobs, pool: pool).add(to: group)
    CommentRoutes(jobs: jobs, pool: pool).add(to: group)
    NotificationRoutes(jobs: jobs, pool: pool).add(to: group)
    LookupRoutes(jobs: jobs, pool: pool, lookups: lookups, budgets: budgets).add(to: group)
    CelebRoutes(jobs: jobs, pool: pool, reads: reads, limit: celebLimit, lookups: lookups).add(to: group)
    certificateRoutes.add(to: group)
    PurchaseRoutes(pool: pool, rules: purchases, limit: celebLimit).add(to: group)
    MessageRoutes(jobs: jobs, pool: pool).add(to: group)
    MeetingRoutes(jobs: jobs, pool: pool, attempts: attempts, secrets: agreements).add(to: group)
    AgreementRoutes(jobs: jobs, pool: pool, secrets: agreements).add(to: group)
    EventRoutes(hub: events, pool: pool).add(to: group)
  }
}
