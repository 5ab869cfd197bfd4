import LibPQClient
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct BatchedSearchTests {
  private struct Asked: Sendable {
    let query: String
    let token: SessionToken
    var before: Int?
    var limit = 20

    var page: PageRequest { get throws { try PageRequest(before: before, limit: limit) } }
  }

  /// Reads that may be behind, as those of a replica.
  private struct Replica: SocialReader {
    let pool: PostgresPool
    var mayBeBehind: Bool { true }
    func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows { try await pool.query(query) }
  }

  private func sessions(_ app: App, of ids: [Int]) async throws -> [SessionToken] {
    var tokens: [SessionToken] = []
    for id in ids { tokens.append(try await app.pool.transaction { try await Sessions.open(for: id, in: $0) }) }
    return tokens
  }

  @Test(arguments: [false, true]) func searchesOfOneStatementHaveTheirOwnResults(isBehind: Bool) async throws {
    try await App.run { app in
      var ids: [Int] = []
      for name in ["anna", "hanna", "ben", "joanna", "gone"] { ids.append(try await app.account(name)) }
      try await app.follow(ids[1], by: ids[2])
      try await app.pool.execute(
        "INSERT INTO restrictions (account_id, other_id, blocked_at) VALUES (\(ids[0]), \(ids[3]), now())")
      let tokens = try await sessions(app, of: ids)
      try await app.pool.execute("UPDATE sessions SET expires_at = now() WHERE token_hash = \(tokens[4].hash)")
      // One waits for the lock, the others form the next batch.
      let reads: any SocialReader = isBehind ? Replica(pool: app.pool) : app.pool
      let searches = BatchedSearches(pool: app.pool, in: reads, width: 1, upTo: 8)
      let asked = [
        Asked(query: "anna", token: tokens[2]), Asked(query: "anna", token: tokens[0]),
        Asked(query: "be", token: tokens[1]), Asked(query: "nobody", token: tokens[1]),
        Asked(query: "anna", token: tokens[2], limit: 1), Asked(query: "", token: tokens[3]),
      ]
      let answers = try await together(app, asked, reading: "searched_accounts", waiting: { searches.waiting }) {
        try await searches.accounts($0.query, for: $0.token, try $0.page)
      }
      #expect(
        try answers.map { try $0.get().items.map(\.account.username) } == [
          ["anna", "joanna", "hanna"], ["hanna"], ["ben"], [], ["anna"], ["gone", "ben", "hanna", "anna"],
        ])
      #expect(try answers[0].get().items.map(\.isFollowed) == [false, false, true])
      let next = try #require(try answers[4].get().next)
      let second = try await searches.accounts("anna", for: tokens[2], try PageRequest(before: next, limit: 1))
      #expect(second.items.map(\.account.username) == ["joanna"])
      for query in ["anna", "nobody", ""] {
        await #expect(throws: Sessions.ended) { try await searches.accounts(query, for: tokens[4], PageRequest()) }
        await #expect(throws: Sessions.ended) { try await searches.posts(query, for: SessionToken(), PageRequest()) }
      }
    }
  }

  /// A statement in which some sessions have ended answers the others.
  @Test func endedSessionsFindNothing() async throws {
    try await App.run { app in
      let ids = try await app.accounts(4, "name")
      let tokens = try await sessions(app, of: ids)
      try await app.pool.transaction { try await Sessions.close(tokens[2], in: $0) }
      let searches = BatchedSearches(pool: app.pool, in: app.pool, width: 1, upTo: 8)
      let answers = try await together(
        app, [tokens[0], tokens[1], tokens[2], SessionToken(), tokens[3]], reading: "searched_accounts",
        waiting: { searches.waiting }
      ) { try await searches.accounts("name", for: $0, PageRequest()) }
      for (place, answer) in answers.enumerated() {
        if [2, 3].contains(place) {
          #expect(throws: Sessions.ended, "\(place)") { try answer.get() }
        } else {
          let found = try answer.get().items.map(\.account.id)
          #expect(found == ids.reversed().filter { $0 != ids[place == 4 ? 3 : place] }, "\(place)")
        }
      }
    }
  }

  @Test func searchesForPostsOfOneStatementHaveTheirOwnResults() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      var posts: [Int] = []
      for title in ["a red house", "a red boat", "a blue boat"] {
        posts.append(try await app.post(title, by: ids[posts.count]))
      }
      try await app.pool.execute("INSERT INTO likes (post_id, account_id) VALUES (\(posts[1]), \(ids[0]))")
      try await app.pool.execute(
        "INSERT INTO restrictions (account_id, other_id, muted_at) VALUES (\(ids[2]), \(ids[0]), now())")
      let tokens = try await sessions(app, of: ids)
      let searches = BatchedSearches(pool: app.pool, in: app.pool, width: 1, upTo: 8)
      let asked = [
        Asked(query: "red", token: tokens[0]), Asked(query: "boat", token: tokens[1]),
        Asked(query: "red", token: tokens[2]), Asked(query: "green", token: tokens[2]),
        Asked(query: "boat", token: tokens[0], limit: 1),
      ]
      let answers = try await together(app, asked, reading: "searched_posts", waiting: { searches.waiting }) {
        try await searches.posts($0.query, for: $0.token, try $0.page)
      }
      let found = try answers.map { try $0.get().items }
      #expect(
        found.map { $0.map(\.id) } == [[posts[1], posts[0]], [posts[2], posts[1]], [posts[1]], [], [posts[2]]])
      #expect(found[0].map(\.isLiked) == [true, false])
      #expect(found[0].map(\.isMine) == [false, true])
      #expect(found[1].map(\.isLiked) == [false, false])
      #expect(found[1].map(\.isMine) == [false, true])
    }
  }
}
