import LibPQClient

/// Reads feeds for session tokens. Concurrent readers share statements and take turns.
///
/// A statement for eight readers takes Postgres three times as long as one for a single reader, and the API sends an
/// eighth as many. The same statement also looks up the sessions.
public struct BatchedFeeds: Sendable {
  private struct Following: Sendable {
    let token: SessionToken
    let own: Bool
    let page: PageRequest
  }

  private struct Home: Sendable {
    let token: SessionToken
    /// The session's account; nil if the statement looks it up.
    let account: Int?
    let cursor: Int
    let count: Int
  }

  private let pool: PostgresPool
  private let reads: any SocialReader
  private let followings: Batcher<SessionToken, Following, FeedRound>
  private let homes: Batcher<SessionToken, Home, FeedRound>

  /// - Parameters:
  ///   - pool: its reads are never stale, so that an ended session is seen at once.
  ///   - reads: reads the home feed.
  ///   - width: how many statements of each feed run at once.
  ///   - limit: the most readers per statement.
  public init(
    pool: PostgresPool, homesFrom reads: any SocialReader, width: Int = 2, upTo limit: Int = 8
  ) {
    self.pool = pool
    self.reads = reads
    followings = Batcher(width: width, upTo: limit, where: { $0.own == $1.own && $0.page.limit == $1.page.limit }) {
      requests in
      try await FeedRound.following(
        of: .sessions(requests.map(\.token)), requests[0].own, before: requests.map(\.page.cursor),
        requests[0].page.limit + 1, in: pool)
    }
    homes = Batcher(width: width, upTo: limit, where: { $0.cursor == $1.cursor && $0.count == $1.count }) { requests in
      let accounts = requests.compactMap(\.account)
      return try await FeedRound.home(
        of: reads.mayBeBehind ? .accounts(accounts) : .sessions(requests.map(\.token)), before: requests[0].cursor,
        requests[0].count, in: reads)
    }
  }

  /// How many readers are waiting for a statement.
  var waiting: Int { followings.waiting + homes.waiting }

  /// A page of `Feed.following`.
  public struct Reading: Sendable {
    public let viewer: Sessions.Viewer
    public let page: Page<Post>
    /// Whether the feed was computed from follows and posts, because its reader is asleep (`FeedSleepers`).
    public let isAsleep: Bool
  }

  /// The posts of the accounts that the session's account follows.
  ///
  /// - Parameter own: whether to include the account's own posts.
  /// - Throws: `not_signed_in` if the token belongs to no session, or the session has expired.
  public func following(_ token: SessionToken, own: Bool = false, _ page: PageRequest) async throws -> Reading {
    let first = try await followings.answer(Following(token: token, own: own, page: page), for: token)
    let viewer: Sessions.Viewer
    if let account = first.viewer {
      viewer = Sessions.Viewer(id: account)
    } else {
      viewer = try await Sessions.going(token, in: pool)
    }
    let (page, isAsleep) = try await Feed.read(viewer.id, own, page, after: first, in: pool)
    return Reading(viewer: viewer, page: page, isAsleep: isAsleep)
  }

  /// The posts of all accounts.
  ///
  /// - Throws: `not_signed_in` if the token belongs to no session, or the session has expired.
  public func home(_ token: SessionToken, _ page: PageRequest) async throws -> Page<Post> {
    let account = reads.mayBeBehind ? try await Sessions.going(token, in: pool).id : nil
    return try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      let round = try await homes.answer(
        Home(token: token, account: account, cursor: cursor, count: count), for: token)
      // Without posts there is no row to show whether the session exists.
      if round.viewer == nil { _ = try await Sessions.going(token, in: pool) }
      return round.rows
    }
  }
}
