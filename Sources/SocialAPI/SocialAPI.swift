import Hummingbird
import Jobs
import JobsPostgres
import JobsRedis
import Operations
import Postgres
import Social

/// The HTTP API under `/v1`: a library, so that tests drive it without a process.
public struct SocialAPI: Sendable {
  private let jobs: AppJobs
  private let pool: PostgresPool
  private let reads: any SocialReader
  private let hasher: PasswordHasher
  private let adminToken: AdminToken?
  private let desk: JobDesk
  private let lookups: Lookups
  private let celebLimit: Int
  private let certificateKey: CertificateKey?
  private let events: EventHub
  private let sendsMail: Bool

  /// - Parameters:
  ///   - pool: the same that `jobs`' ledger uses.
  ///   - reads: where what may be a second old is read: the feed of everybody's posts, the search of accounts, the rankings;
  ///     `pool` if nil. What clients read back after they wrote it comes from `pool`.
  ///   - desk: for the operators' routes.
  ///   - adminToken: opens the routes for operators; without one they are closed.
  ///   - lookups: how channels are looked up; without a key, from what is kept alone.
  ///   - celebLimit: how many celebs an account registers at most that has no limit of its own.
  ///   - certificateKey: signs fans' certificates; without one there are none.
  ///   - sendsMail: whether the workers hand mail to a server; without it nobody is written to who has forgotten a password.
  ///   - events: tells who listens what is new; its `run()` must be running.
  public init(
    jobs: AppJobs, pool: PostgresPool, reads: (any SocialReader)? = nil, hasher: PasswordHasher, desk: JobDesk,
    adminToken: AdminToken?,
    lookups: Lookups = Lookups(rules: LookupRules(keys: [])), celebLimit: Int = Celebs.usualLimit,
    certificateKey: CertificateKey? = nil, sendsMail: Bool = false, events: EventHub
  ) {
    self.events = events
    self.sendsMail = sendsMail
    self.lookups = lookups
    self.celebLimit = celebLimit
    self.certificateKey = certificateKey
    self.desk = desk
    self.jobs = jobs
    self.pool = pool
    self.reads = reads ?? pool
    self.hasher = hasher
    self.adminToken = adminToken
  }

  /// - Parameter addRoutes: what the program has to add, such as its health.
  public func responder(
    adding addRoutes: (Router<APIContext>) -> Void = { _ in }
  ) -> RouterResponder<APIContext> {
    let router = Router(context: APIContext.self)
    router.add(middleware: RequestTracing())
    router.add(middleware: RequestMetrics())
    addRoutes(router)
    router.add(middleware: ProblemMiddleware())
    let group = router.group("v1").add(middleware: Authentication(pool: pool, adminToken: adminToken))
    AccountRoutes(jobs: jobs, pool: pool, hasher: hasher).add(to: group)
    PasswordResetRoutes(jobs: jobs, pool: pool, hasher: hasher, sendsMail: sendsMail).add(to: group)
    UserRoutes(jobs: jobs, pool: pool, reads: reads).add(to: group)
    PostRoutes(jobs: jobs, pool: pool, reads: reads).add(to: group)
    LikeRoutes(jobs: jobs, pool: pool).add(to: group)
    CommentRoutes(jobs: jobs, pool: pool).add(to: group)
    NotificationRoutes(jobs: jobs, pool: pool).add(to: group)
    LookupRoutes(jobs: jobs, pool: pool, lookups: lookups).add(to: group)
    CelebRoutes(jobs: jobs, pool: pool, reads: reads, limit: celebLimit, certificateKey: certificateKey).add(to: group)
    MessageRoutes(jobs: jobs, pool: pool).add(to: group)
    EventRoutes(hub: events, pool: pool).add(to: group)
    JobRoutes(desk: desk).add(to: group)
    AutoscalingRoutes(pool: pool).add(to: group)
    return router.buildResponder()
  }
}
