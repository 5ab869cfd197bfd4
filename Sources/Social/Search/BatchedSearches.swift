import LibPQClient

/// Searches accounts and posts for session tokens. Concurrent searches share statements and take turns.
///
/// A search takes up to a millisecond of processor time in Postgres. Running more at once than Postgres has processors
/// would slow every search and every other request. The same statement also looks up the sessions.
public struct BatchedSearches: Sendable {
  private let pool: PostgresPool
  private let reads: any SocialReader
  private let accounts: Batcher<SessionToken, SearchRound, SearchRound.Found<AccountSearch.Found>>
  private let posts: Batcher<SessionToken, SearchRound, SearchRound.Found<Post>>

  /// - Parameters:
  ///   - pool: its reads are never stale, so that an ended session is seen at once.
  ///   - reads: finds accounts and posts.
  ///   - width: how many statements for accounts, and how many for posts, run at once.
  ///   - limit: the most searches per statement. Each waits until all of its statement are done.
  public init(pool: PostgresPool, in reads: any SocialReader, width: Int = 2, upTo limit: Int = 3) {
    self.pool = pool
    self.reads = reads
    accounts = Batcher(width: width, upTo: limit) { try await AccountSearch.find($0, in: reads) }
    posts = Batcher(width: width, upTo: limit) { try await PostSearch.find($0, in: reads) }
  }

  /// How many searches are waiting for a statement.
  var waiting: Int { accounts.waiting + posts.waiting }

  /// A page of `AccountSearch.find`.
  ///
  /// - Throws: `invalid_query`; `not_signed_in` if the token belongs to no session, or the session has expired.
  public func accounts(
    _ query: String, for token: SessionToken, _ page: PageRequest
  ) async throws -> Page<AccountSearch.Found> {
    let searcher = try await searcher(token)
    return try await AccountSearch.page(query, page) {
      try await accounts.answer(SearchRound(searcher: searcher, query: query, place: $0, count: $1), for: token).shown()
    }
  }

  /// A page of `PostSearch.find`.
  ///
  /// - Throws: `invalid_query`; `not_signed_in` if the token belongs to no session, or the session has expired.
  public func posts(_ query: String, for token: SessionToken, _ page: PageRequest) async throws -> Page<Post> {
    let searcher = try await searcher(token)
    return try await PostSearch.page(query, page) {
      try await posts.answer(SearchRound(searcher: searcher, query: query, place: $0, count: $1), for: token).shown()
    }
  }

  /// A replica may not show yet that a session has ended.
  private func searcher(_ token: SessionToken) async throws -> SearchRound.Searcher {
    reads.mayBeBehind ? .account(try await Sessions.going(token, in: pool).id) : .session(token)
  }
}
