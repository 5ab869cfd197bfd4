import Glibc
import LibPQClient
import PrivateServers

/// 10,000 event streams of one API, read by a separate process: the memory they use, and the delay from the start of
/// its transaction until an event arrives.
///
/// The events are made as by the job that notifies of comments, ten in a transaction.
enum Live {
  private static let streams = 10_000
  /// Each is open in twenty streams.
  private static let threads = 500
  private static let batch = 10
  /// The time between two transactions: 500 events a second.
  private static let pace = Duration.milliseconds(20)
  private static let batches = 500
  private static let limit = Duration.seconds(60)
  /// Ids that no other measurement uses.
  private static let base = 60_000_000

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var memory = Figure("the API's memory with 10,000 event streams", .megabytes, [.atMost(250)])
    var all = Figure("one event to all 10,000 streams", .seconds, [.atMost(1)])
    var middle = Figure("500 events/s to 20 streams each, p50", .milliseconds, [.atMost(50)])
    var tail = Figure("the same, p99", .milliseconds, [.atMost(200)])
    let database = try stage.needDatabase()
    stage.note("live: filling the tables")
    let first = try await fill(database)
    try await stage.flush()
    for run in 1...stage.runs {
      stage.note("live, run \(run)")
      let port = try FreePort.find()
      let api = try await stage.programs().startAPI(
        port: port, ["FANMILL_HTTP_CLIENT_CONNECTIONS": "0", "FANMILL_HTTP_CONNECTIONS": "\(2 * streams)"])
      stage.board.reset()
      var options = try StreamsChild.Options([])
      (options.port, options.board, options.count) = (port, stage.board.path, streams)
      (options.base, options.posts, options.firstPost) = (base, threads, first)
      let reader = try await Child.start(["/proc/\(getpid())/exe"] + options.words)
      try await wait("the streams are open", reader) { stage.board.isReady }
      for number in 0..<batches {
        let next = ContinuousClock.now + pace
        let posts = (0..<batch).map { first + (number * batch + $0) % threads }
        try await comment(on: posts, database)
        try await Task.sleep(until: next)
      }
      let heard = batches * batch * streams / threads
      try await wait("\(heard) events are heard", reader) { stage.board.counted >= heard }
      try BenchError.check("events that were heard", stage.board.counted, equals: heard)
      middle.samples.append(Figure.percentile(stage.board.samples, 0.5))
      tail.samples.append(Figure.percentile(stage.board.samples, 0.99))
      stage.board.reset()
      try await comment(on: [first - 1], database)
      try await wait("all have heard of one event", reader) { stage.board.counted >= streams }
      all.samples.append((stage.board.samples.max() ?? .nan) / 1000)
      memory.samples.append(try api.usage().peakMegabytes)
      try await reader.stop()
      try await api.stop()
    }
    return [memory, all, middle, tail]
  }

  /// - Returns: the first of the threads; the post before it is open in all streams.
  private static func fill(_ database: Database) async throws -> Int {
    let statements: [PostgresQuery] = [
      """
      INSERT INTO accounts (id, username) OVERRIDING SYSTEM VALUE
      SELECT \(base) + i, 'listener-' || i FROM generate_series(0, \(streams)) i
      """,
      """
      INSERT INTO sessions (token_hash, account_id, expires_at)
      SELECT sha256(convert_to(repeat('t', 35) || id, 'UTF8')), id, now() + interval '1 day'
      FROM accounts WHERE id >= \(base)
      """,
      """
      INSERT INTO posts (id, author_id, title)
      SELECT post_id_at(now()) + i, \(base + streams), 'a thread' FROM generate_series(0, \(threads)) i
      """,
    ]
    for statement in statements { try await database.pool.execute(statement) }
    return try await database.count("SELECT min(id) + 1 FROM posts WHERE author_id = \(base + streams)")
  }

  private static func comment(on posts: [Int], _ database: Database) async throws {
    try await database.pool.transaction { transaction in
      let comments = try await transaction.query(
        """
        INSERT INTO comments (post_id, account_id, text)
        SELECT post, \(base + streams), \("@\(SharedClock.now)@") FROM unnest(\(posts)) post RETURNING id
        """
      ).decode(Int.self)
      try await transaction.execute("SELECT notify_live(\(posts.map { "t\($0)" }))")
      try await transaction.execute("SELECT log_comments(\(posts), \(comments))")
    }
  }

  private static func wait(_ what: String, _ reader: Child, until isThere: () -> Bool) async throws {
    let deadline = ContinuousClock.now + limit
    while !isThere() {
      guard reader.isRunning, .now < deadline else { throw BenchError("not so within \(limit): \(what)") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
