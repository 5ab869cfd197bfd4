import DurableJobs
import Foundation
import HiredisClient
import LibPQClient
import Locking
import Logging
import PrivateServers
import TestSupport
import Testing

@testable import Social
@testable import SocialAPI

/// The hourly budgets of an account and of a client.
@Suite(.timeLimit(.minutes(3))) struct BudgetRouteTests {
  private let prefix = "budgets-\(JobID.next())"

  /// Two of each kind.
  private static let few: RequestLimits = {
    var limits = RequestLimits()
    (limits.posts, limits.follows, limits.likes) = (2, 2, 2)
    (limits.comments, limits.lookups, limits.signUps) = (2, 2, 2)
    return limits
  }()

  private func budgets(_ limits: RequestLimits = few) -> @Sendable (RedisClient) -> RequestBudgets? {
    { [prefix] client in
      // A busy machine must not count as an outage.
      RequestBudgets(
        limits: limits,
        buckets: TokenBuckets(client: client, prefix: prefix, patience: .seconds(60), logger: logger))
    }
  }

  /// Accounts with sessions, created without a client.
  private func tokens(_ names: String..., on api: API) async throws -> [String] {
    var tokens: [String] = []
    for name in names {
      tokens.append(
        try await api.pool.transaction { transaction in
          let id = try await transaction.query("INSERT INTO accounts (username) VALUES (\(name)) RETURNING id")[0]
            .decode(Int.self)
          return try await Sessions.open(for: id, in: transaction).text
        })
    }
    return tokens
  }

  @Test func eachKindHasABudgetAndEachAccountItsOwn() async throws {
    try await API.run(budgets: budgets()) { api in
      let users = try await tokens("ann", "bob", on: api)
      let post = try await api.post("hello", as: users[1])
      let kinds: [(name: String, method: String, path: String, body: String?, status: Int)] = [
        ("posts", "POST", "/v1/posts", #"{"title":"x"}"#, 201),
        ("follows", "PUT", "/v1/users/bob/follow", nil, 204), ("likes", "PUT", "/v1/posts/\(post)/like", nil, 204),
        ("comments", "POST", "/v1/posts/\(post)/comments", #"{"text":"x"}"#, 201),
      ]
      for kind in kinds {
        for left in [1, 0] {
          let reply = try await api.send(kind.method, kind.path, as: users[0], kind.body)
          #expect(reply.status == kind.status, "\(kind.name)")
          #expect(reply.headers["ratelimit-policy"] == "\"\(kind.name)\";q=2;w=3600")
          #expect(reply.headers["ratelimit"]?.hasPrefix("\"\(kind.name)\";r=\(left);t=") == true)
        }
        let refused = try await api.send(kind.method, kind.path, as: users[0], kind.body)
        #expect((refused.status, refused.code) == (429, "rate_limited"), "\(kind.name)")
        let wait = Int(refused.headers["retry-after"] ?? "") ?? 0
        #expect((1...1800).contains(wait) && refused.headers["ratelimit"] == "\"\(kind.name)\";r=0;t=\(wait)")
        #expect((refused.json["detail"] as? String)?.contains("more than 2 \(kind.name) in an hour") == true)
      }
      // Another account's budgets are separate: bob made one of the posts above.
      #expect(try await api.send("POST", "/v1/posts", as: users[1], #"{"title":"x"}"#).status == 201)
      #expect(try await api.send("PUT", "/v1/posts/\(post)/like", as: users[1]).status == 204)
      // Deletions and reads cost nothing, and are never refused.
      for _ in 0..<4 {
        #expect(try await api.send("DELETE", "/v1/posts/\(post)/like", as: users[0]).status == 204)
        #expect(try await api.send("GET", "/v1/posts/\(post)", as: users[0]).status == 200)
        let stranger = try await api.send("POST", "/v1/posts", #"{"title":"x"}"#)
        #expect((stranger.status, stranger.code) == (401, "not_signed_in"))
      }
      #expect(try await api.count("SELECT count(*) FROM posts") == 4)
    }
  }

  @Test func aBucketFillsEvenlyAndGoesWhenItIsFull() async throws {
    try await API.run(budgets: budgets()) { api in
      let ann = try await tokens("ann", on: api)[0]
      func post() async throws -> Int {
        try await api.send("POST", "/v1/posts", as: ann, #"{"title":"x"}"#).status
      }
      let id = try await api.count("SELECT id FROM accounts WHERE username = 'ann'")
      let key = "\(prefix):budget:{posts:a\(id)}"
      func shift(minutes: Double) async throws {
        let kept = try await api.redis.send(RedisCommand("GET", key)).text
        let full = try #require(kept.flatMap { Double($0) })
        try await api.redis.send(RedisCommand("SET", key, "\(full - minutes * 60_000)", "KEEPTTL"))
      }
      #expect(try await [post(), post(), post()] == [201, 201, 429])
      let life = try await api.redis.send(RedisCommand("PTTL", key)).int ?? 0
      #expect((3_000_000...3_600_000).contains(life), "it goes when it is full")
      // A token is added every half an hour.
      try await shift(minutes: 29)
      #expect(try await post() == 429)
      try await shift(minutes: 1.1)
      #expect(try await [post(), post()] == [201, 429])
      try await shift(minutes: 200)
      #expect(try await [post(), post(), post()] == [201, 201, 429])
    }
  }

  @Test func aClientOpensFewAccounts() async throws {
    try await API.run(proxies: try TrustedProxies(["127.0.0.1"]), budgets: budgets()) { api in
      func open(_ name: String, from client: String) async throws -> API.Reply {
        try await api.send("POST", "/v1/accounts", from: client, API.registration(name))
      }
      for name in ["ann", "bob"] { #expect(try await open(name, from: "198.51.100.1").status == 201) }
      let refused = try await open("cat", from: "198.51.100.1")
      #expect((refused.status, refused.code) == (429, "rate_limited"))
      #expect(refused.headers["ratelimit"]?.hasPrefix("\"sign-ups\";r=0;t=") == true)
      #expect(try await open("cat", from: "198.51.100.2").status == 201)
      #expect(try await api.count("SELECT count(*) FROM accounts") == 3)
    }
  }

  @Test func onlyLookupsThatAreBegunCount() async throws {
    let rules = LookupRules(keys: [YouTubeKey("a key")])
    try await API.run(lookups: rules, budgets: budgets()) { api in
      let users = try await tokens("ann", "bob", on: api)
      func search(_ question: String, as user: String) async throws -> API.Reply {
        try await api.send("GET", "/v1/celebs/search?platform=youtube&q=\(question)", as: user)
      }
      // A lookup in progress is shared by all its askers.
      for _ in 0..<4 { #expect(try await search("one", as: users[0]).status == 202) }
      #expect(try await search("two", as: users[0]).status == 202)
      let refused = try await search("three", as: users[0])
      #expect((refused.status, refused.code) == (429, "rate_limited"))
      #expect(refused.headers["retry-after"] != nil)
      #expect(try await api.count("SELECT count(*) FROM lookups") == 2)
      #expect(try await api.count("SELECT count(*) FROM jobs") == 2)
      #expect(try await search("one", as: users[0]).status == 202)
      #expect(try await search("three", as: users[1]).status == 202)
    }
  }

  @Test func whatTheServerCannotDoIsGivenBack() async throws {
    try await API.run(budgets: budgets()) { api in
      let ann = try await tokens("ann", on: api)[0]
      func post() async throws -> Int {
        try await api.send("POST", "/v1/posts", as: ann, #"{"title":"x"}"#).status
      }
      try await api.pool.execute("ALTER TABLE posts RENAME TO elsewhere")
      for _ in 0..<4 { #expect(try await post() == 500) }
      try await api.pool.execute("ALTER TABLE elsewhere RENAME TO posts")
      #expect(try await [post(), post(), post()] == [201, 201, 429])
      // The client's own mistakes still cost it.
      let bob = try await tokens("bob", on: api)[0]
      for _ in 0..<2 { #expect(try await api.send("POST", "/v1/posts", as: bob, "{}").status == 422) }
      #expect(try await api.send("POST", "/v1/posts", as: bob, #"{"title":"x"}"#).status == 429)
    }
  }

  @Test func withoutRedisNothingIsRefusedAndTheLogSaysSoOnce() async throws {
    let server = try await PrivateRedis.start()
    let client = RedisClient(
      configuration: try RedisConfiguration(url: server.url), loop: .tests, logger: .quiet)
    let lines = Locked<[String]>([])
    let breaker = CircuitBreaker(interval: .milliseconds(1))
    let buckets = TokenBuckets(
      client: client, patience: .milliseconds(50), breaker: breaker,
      logger: Logger(label: "budgets") { _ in LogRecorder(lines) })
    func logged() -> [String] { lines.withLock { $0 } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      defer { group.cancelAll() }
      // On a busy machine its reply may be late, which counts as an outage.
      func spend() async throws -> TokenBuckets.Standing? { try await buckets.spend("posts", limit: 1, of: "ann") }
      try await eventually("the budget is kept") { try await spend()?.isAllowed == false }
      lines.withLock { $0 = [] }
      await server.freeze()
      try await eventually("a frozen Redis is noticed") { try await spend() == nil }
      for _ in 0..<5 { #expect(try await spend() == nil) }
      #expect(breaker.isOpen, "others do not wait either")
      await server.thaw()
      try await eventually("the budget is kept again") { try await spend() != nil }
      #expect(!breaker.isOpen)
      await server.kill9()
      try await eventually("a Redis that is gone is noticed") { try await spend() == nil }
      try await server.start()
      try await eventually("the budget of another Redis is kept") { try await spend() != nil }
    }
    let warnings = logged().filter { $0.hasPrefix("warning") }
    let notices = logged().filter { $0.hasPrefix("notice") }
    #expect(warnings.count >= 2 && (0...1).contains(warnings.count - notices.count), "\(logged())")
    #expect(warnings.allSatisfy { $0.contains("no request is refused") })
    await server.stop()
    // And the API without budgets does not mention them.
    try await API.run { api in
      let ann = try await tokens("ann", on: api)[0]
      let reply = try await api.send("POST", "/v1/posts", as: ann, #"{"title":"x"}"#)
      #expect(reply.status == 201 && reply.headers["ratelimit"] == nil)
    }
  }
}
