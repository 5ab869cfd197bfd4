import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `feed`.
struct FeedRoutes: Sendable {
  private let jobs: AppJobs
  private let pool: PostgresPool
  private let rules: FeedRules
  private let feeds: BatchedFeeds

  init(jobs: AppJobs, pool: PostgresPool, reads: any SocialReader, rules: FeedRules) {
    self.jobs = jobs
    self.pool = pool
    self.rules = rules
    feeds = BatchedFeeds(pool: pool, homesFrom: reads)
  }

  /// - Parameter group: a group that resolves no sessions. One statement finds both feed and session.
  func add(to group: RouterGroup<APIContext>) {
    group.on(.readHomeFeed, use: home)
    group.on(.readFollowingFeed, use: following)
  }

  @Sendable private func home(_ request: Request, _ context: APIContext) async throws -> Answer {
    let page = try await feeds.home(try context.sessionToken(of: request), try request.page())
    return try Answer(.ok, PageView(page, PostView.init))
  }

  @Sendable private func following(_ request: Request, _ context: APIContext) async throws -> Answer {
    let token = try context.sessionToken(of: request)
    let reading = try await feeds.following(token, own: try request.flag("own"), try request.page())
    let viewer = reading.viewer.id
    if reading.isAsleep { try await jobs.transaction { try await FeedSleepers.wake(viewer, in: $0) } }
    if rules.notesReaders { try await FeedSleepers.note(viewer, on: pool) }
    return try Answer(.ok, PageView(reading.page, PostView.init))
  }
}
