import DurableJobs
import LibPQClient
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct BatchedFeedTests {
  @Test func readersOfOneStatementHaveTheirOwnFeeds() async throws {
    try await App.run { app in
      let ids = try await app.accounts(6)
      // Each follows the next two; the fifth follows none, and the sixth has muted the first.
      for reader in 0..<4 {
        for author in [(reader + 1) % 6, (reader + 2) % 6] { try await app.follow(ids[author], by: ids[reader]) }
      }
      try await app.follow(ids[0], by: ids[5])
      try await app.follow(ids[1], by: ids[5])
      var posts: [Int] = []
      for author in ids { posts.append(try await app.post("by \(author)", by: author)) }
      try await app.drain()
      try await app.pool.execute(
        "INSERT INTO restrictions (account_id, other_id, muted_at) VALUES (\(ids[5]), \(ids[0]), now())")
      for (reader, post) in [(0, 1), (3, 4), (5, 1)] {
        try await app.pool.execute("INSERT INTO likes (post_id, account_id) VALUES (\(posts[post]), \(ids[reader]))")
      }
      var tokens: [SessionToken] = []
      for id in ids { tokens.append(try await app.pool.transaction { try await Sessions.open(for: id, in: $0) }) }
      let ended = tokens[2]
      try await app.pool.transaction { try await Sessions.close(ended, in: $0) }
      // An unknown token, and one token twice.
      tokens += [SessionToken(), tokens[0]]
      let expected = [[2, 1], [3, 2], nil, [5, 4], [], [1], nil, [2, 1]]

      func check(
        _ answers: [Result<Page<Post>, any Error>], _ expected: [[Int]?], _ location: SourceLocation = #_sourceLocation
      ) throws {
        #expect(answers.count == expected.count, sourceLocation: location)
        for (place, (answer, expected)) in zip(answers, expected).enumerated() {
          guard let expected else {
            #expect(throws: SocialError.self, "\(place)", sourceLocation: location) { try answer.get() }
            continue
          }
          let page = try answer.get()
          #expect(page.items.map(\.id) == expected.map { posts[$0] }, "\(place)", sourceLocation: location)
          let reader = place == 7 ? 0 : place
          for post in page.items {
            #expect(post.isMine == (post.author.id == ids[reader]), sourceLocation: location)
            let likes = [0: 1, 3: 4, 5: 1][reader].map { post.id == posts[$0] } ?? false
            #expect(post.isLiked == likes, "\(place)", sourceLocation: location)
          }
        }
      }

      // One waits for the lock, the others form the next batch.
      let feeds = BatchedFeeds(pool: app.pool, homesFrom: app.pool, width: 1)
      let followings = try await together(app, tokens, waiting: { feeds.waiting }) {
        try await feeds.following($0, PageRequest())
      }
      try check(followings.map { answer in answer.map(\.page) }, expected)
      for (place, answer) in followings.enumerated() where expected[place] != nil {
        #expect(try answer.get().viewer.id == ids[place == 7 ? 0 : place])
      }
      let own = try await together(app, tokens, waiting: { feeds.waiting }) {
        try await feeds.following($0, own: true, PageRequest())
      }
      try check(
        own.map { answer in answer.map(\.page) },
        [[2, 1, 0], [3, 2, 1], nil, [5, 4, 3], [4], [5, 1], nil, [2, 1, 0]])
      let all = [5, 4, 3, 2, 1, 0]
      let homes = try await together(app, tokens, waiting: { feeds.waiting }) {
        try await feeds.home($0, PageRequest())
      }
      try check(homes, [all, all, nil, all, all, [5, 4, 3, 2, 1], nil, all])
      // A page of another reader's next post: what is muted is passed over, and the page is filled by another round.
      let request = try PageRequest(before: posts[1], limit: 1)
      let small = try await together(app, tokens, waiting: { feeds.waiting }) { try await feeds.home($0, request) }
      try check(small, [[0], [0], nil, [0], [0], [], nil, [0]])
    }
  }

  @Test func readersOfOneStatementGoOnFromTheirOwnPlaces() async throws {
    try await App.run { app in
      let ids = try await app.accounts(4)
      for reader in ids[1...] { try await app.follow(ids[0], by: reader) }
      var posts: [Int] = []
      for number in 0..<6 { posts.append(try await app.post("\(number)", by: ids[0])) }
      try await app.drain()
      var cursors: [SessionToken: Int] = [:]
      var tokens: [SessionToken] = []
      for (place, id) in ids[1...].enumerated() {
        let token = try await app.pool.transaction { try await Sessions.open(for: id, in: $0) }
        tokens.append(token)
        cursors[token] = posts[5 - place]
      }
      // A sleeping reader shares the statement, and its feed is assembled.
      try await app.pool.execute("INSERT INTO feed_sleepers (account_id) VALUES (\(ids[3]))")
      let feeds = BatchedFeeds(pool: app.pool, homesFrom: app.pool, width: 1)
      let before = cursors
      let answers = try await together(app, tokens, waiting: { feeds.waiting }) {
        try await feeds.following($0, PageRequest(before: before[$0], limit: 2))
      }
      for (place, answer) in answers.enumerated() {
        let reading = try answer.get()
        #expect(reading.page.items.map(\.id) == [posts[4 - place], posts[3 - place]])
        #expect(reading.isAsleep == (place == 2))
        #expect(reading.page.next == posts[3 - place])
      }
    }
  }

  @Test func feedsAreNewestFirstHoweverPostgresJoinsPostsAndAuthors() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      for author in ids[..<2] { try await app.follow(author, by: ids[2]) }
      var posts: [Int] = []
      for number in 0..<6 { posts.append(try await app.post("\(number)", by: ids[number % 2])) }
      try await app.drain()
      for left in ["hashjoin", "mergejoin", "nestloop"] {
        let page = try await app.pool.transaction { sql in
          for join in ["hashjoin", "mergejoin", "nestloop"] where join != left {
            try await sql.execute("SET LOCAL \(unescaped: "enable_" + join) = off")
          }
          return try await Feed.following(ids[2], PageRequest(limit: 4), in: sql)
        }
        #expect(page.items.map(\.id) == Array(posts.reversed().prefix(4)), "\(left)")
        #expect(page.items.map(\.author.id) == [1, 0, 1, 0].map { ids[$0] }, "\(left)")
        #expect(page.next == posts[2], "\(left)")
      }
    }
  }
}
