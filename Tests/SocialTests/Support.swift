import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import LibPQClient
import Logging
import Migrations
import PrivateServers
import Reactor
import TestSupport
import Testing

@testable import Social

let loop = EventLoop(name: "test-loop")

let logger: Logger = {
  var logger = Logger(label: "social-tests")
  logger.logLevel = .critical
  return logger
}()

/// A database with the project's schema, and the services to use it.
struct App: Sendable {
  let pool: PostgresPool
  let broker = InMemoryBroker()
  let client: JobClient<InMemoryBroker, PostgresLedger>

  var database: JobsDatabase { JobsDatabase(pool: pool) }

  init(pool: PostgresPool) {
    self.pool = pool
    client = JobClient(broker: broker, ledger: PostgresLedger(pool: pool), logger: logger)
  }

  /// Runs `body` on a separate database, with a running pool.
  static func run(connections: Int = 8, _ body: @Sendable (App) async throws -> Void) async throws {
    // It has the feeds' partitions for a day: tests that start after midnight, in UTC, get another.
    let day = Int(Date.now.timeIntervalSince1970) / 86_400
    let template = try await SharedServers.template("social_\(day)") { url in
      try await withPool(url, connections: 2) { pool in
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations").path
        try await DatabaseMigrator(try Migration.all(in: folder), pool: pool).up()
      }
    }
    let url = try await SharedServers.freshDatabase(template: template)
    try await withPool(url, connections: connections) { pool in
      try await body(App(pool: pool))
    }
    try await SharedServers.drop(url)
  }

  private static func withPool(
    _ url: String, connections: Int, _ body: @Sendable (PostgresPool) async throws -> Void
  ) async throws {
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: url), size: connections, waitLimit: .seconds(60), loop: loop,
      logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      try await body(pool)
      group.cancelAll()
    }
    // The database cannot be copied or dropped while it has an open session.
    try await eventually { await pool.usage().leased == 0 }
  }

  // MARK: Jobs

  /// Serves the app's jobs while `body` runs.
  func working(
    youtube: YouTube? = nil, cards: CardStudio? = nil, webhooks: WebhookSender? = nil,
    _ body: @Sendable () async throws -> Void
  ) async throws {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry, youtube: youtube, cards: cards, webhooks: webhooks)
    let slots = [SocialJobs.bulkQueue: 3, SocialJobs.webhookQueue: 8]
    let worker = Worker(
      broker: broker, ledger: PostgresLedger(pool: pool), registry: registry,
      configuration: WorkerConfiguration(
        queues: Dictionary(uniqueKeysWithValues: registry.queues.map { ($0, slots[$0] ?? 2) })),
      logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      try await body()
      group.cancelAll()
    }
  }

  /// Waits until no job is pending, with a running worker.
  func waitForJobs() async throws {
    try await eventually {
      try #require(try await count("SELECT count(*) FROM dead_jobs") == 0, "a job was given up")
      return try await count("SELECT count(*) FROM jobs") == 0
    }
  }

  /// Runs every pending job, and those that they enqueue.
  func drain(youtube: YouTube? = nil, cards: CardStudio? = nil) async throws {
    try await working(youtube: youtube, cards: cards) { try await waitForJobs() }
  }

  // MARK: Short forms

  func count(_ query: PostgresQuery) async throws -> Int { try await pool.query(query)[0].decode(Int.self) }

  func account(_ username: String) async throws -> Int {
    try await pool.query("INSERT INTO accounts (username, name) VALUES (\(username), \(username)) RETURNING id")[0]
      .decode(Int.self)
  }

  func accounts(_ count: Int, _ prefix: String = "account") async throws -> [Int] {
    try await pool.query(
      """
      INSERT INTO accounts (username) SELECT \(prefix) || i FROM generate_series(1, \(count)) i ORDER BY i RETURNING id
      """
    ).decode(Int.self)
  }

  @discardableResult
  func follow(_ followee: Int, by follower: Int) async throws -> Bool {
    try await client.transaction { try await Follows.follow(followee, by: follower, in: $0) }
  }

  @discardableResult
  func unfollow(_ followee: Int, by follower: Int) async throws -> Bool {
    try await client.transaction { try await Follows.unfollow(followee, by: follower, in: $0) }
  }

  @discardableResult
  func post(_ title: String = "title", by author: Int) async throws -> Int {
    let draft = try PostDraft(title: title)
    return try await client.transaction { try await Posts.create(draft, by: author, in: $0).id }
  }

  func delete(_ post: Int, by author: Int) async throws {
    try await client.transaction { try await Posts.delete(post, by: author, in: $0) }
  }

  @discardableResult
  func like(_ post: Int, by account: Int) async throws -> Bool {
    try await client.transaction { try await Likes.like(post, by: account, in: $0) }
  }

  @discardableResult
  func unlike(_ post: Int, by account: Int) async throws -> Bool {
    try await client.transaction { try await Likes.unlike(post, by: account, in: $0) }
  }

  @discardableResult
  func comment(_ post: Int, by account: Int, _ text: String = "well said") async throws -> Int {
    let draft = try CommentDraft(text: text)
    return try await client.transaction { try await Comments.create(draft, on: post, by: account, in: $0) }
  }

  func deleteComment(_ id: Int, on post: Int, by account: Int) async throws {
    try await client.transaction { try await Comments.delete(id, on: post, by: account, in: $0) }
  }

  /// The first page of an account's notifications, newest first.
  func notifications(of owner: Int, grouped: Bool = false) async throws -> [NotificationItem] {
    try await Notifications.list(of: owner, grouped: grouped, try PageRequest(limit: 100), in: pool).items
  }

  func unread(of owner: Int) async throws -> Int { try await Notifications.unread(of: owner, in: pool) }

  func check(upTo id: Int, of owner: Int) async throws {
    try await pool.transaction { try await Notifications.check(upTo: id, of: owner, in: $0) }
  }

  func check(_ ids: Int..., of owner: Int) async throws {
    try await pool.transaction { try await Notifications.check(ids, of: owner, in: $0) }
  }

  func expectExactNotifications(_ location: SourceLocation = #_sourceLocation) async throws {
    let audit = try await NotificationAudit.run(on: database)
    #expect(
      audit.isExact, "missing \(audit.missingRows), stale \(audit.staleRows), miscounted \(audit.miscountedOwners)",
      sourceLocation: location)
    #expect(audit.pending == 0, sourceLocation: location)
  }

  /// Every row of every feed.
  func feedRows() async throws -> Set<FeedRow> {
    Set(
      try await pool.query("SELECT user_id, post_id FROM following_user_posts").decode(Int.self, Int.self)
        .map { FeedRow(user: $0.0, post: $0.1) })
  }

  func expectExactFeeds(_ location: SourceLocation = #_sourceLocation) async throws {
    let audit = try await FeedAudit.run(on: pool)
    #expect(audit.isExact, "missing \(audit.missingRows), stale \(audit.staleRows)", sourceLocation: location)
    #expect(audit.pending == 0, sourceLocation: location)
  }
}

struct FeedRow: Hashable, Sendable {
  var user: Int
  var post: Int
}

/// The code of the error that `body` throws.
func code(_ body: () async throws -> Void) async throws -> SocialError.Code? {
  do {
    try await body()
    return nil
  } catch let error as SocialError {
    return error.code
  }
}
