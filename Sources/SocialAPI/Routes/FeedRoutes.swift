import DurableJobs
import Hummingbird
import LibPQClient
import Social

/// `feed`.
struct FeedRoutes: Sendable {
  let jobs: AppJobs
  let pool: PostgresPool
  let reads: any SocialReader
  let rules: FeedRules
  let gate: FairGate<SessionToken>

  /// - Parameter group: one that looks up no sessions. A feed is found with its session, in one statement.
  func add(to group: RouterGroup<APIContext>) {
    group.get("feed/home", use: home)
    group.get("feed/following", use: following)
  }

  @Sendable private func home(_ request: Request, _ context: APIContext) async throws -> Answer {
    let (token, wanted) = (try request.sessionToken(), try request.page())
    let page = try await gate.pass(for: token) {
      guard reads.mayBeBehind else { return try await Feed.home(token, wanted, in: pool) }
      return try await Feed.home(seenBy: Sessions.going(token, in: pool).id, wanted, in: reads)
    }
    return try Answer(.ok, PageView(page, PostView.init))
  }

  @Sendable private func following(_ request: Request, _ context: APIContext) async throws -> Answer {
    let token = try request.sessionToken()
    let (own, wanted) = (try request.flag("own"), try request.page())
    let reading = try await gate.pass(for: token) { try await Feed.read(token, own: own, wanted, in: pool) }
    let viewer = reading.viewer.id
    if reading.isAsleep { try await jobs.transaction { try await FeedSleepers.wake(viewer, in: $0) } }
    if rules.notesReaders { try await FeedSleepers.note(viewer, on: pool) }
    return try Answer(.ok, PageView(reading.page, PostView.init))
  }
}
