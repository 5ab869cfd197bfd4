import DurableJobs
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import Logging
import PrivateServers
import Reactor

/// The resources that all measurements of a benchmark share: private servers, their clients, a board, a worker child.
final class Stage: Sendable {
  let redis: PrivateRedis
  let client: RedisClient
  let broker: RedisBroker
  /// The database for measurements that need one.
  let database: Database?
  let sidekiq: Sidekiq?
  let board: Board
  let loop: EventLoop
  let logger: Logger
  let folder: String
  let runs: Int

  private init(
    redis: PrivateRedis, client: RedisClient, broker: RedisBroker, database: Database?, sidekiq: Sidekiq?,
    board: Board, loop: EventLoop, logger: Logger, folder: String, runs: Int
  ) {
    self.redis = redis
    self.client = client
    self.broker = broker
    self.database = database
    self.sidekiq = sidekiq
    self.board = board
    self.loop = loop
    self.logger = logger
    self.folder = folder
    self.runs = runs
  }

  /// Starts the servers, runs `body` with the stage, and stops everything.
  static func with<Result: Sendable>(
    runs: Int, withDatabase: Bool, _ body: @Sendable @escaping (Stage) async throws -> Result
  ) async throws -> Result {
    var logger = Logger(label: "fanmill-bench") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    let log = logger
    let folder = NSTemporaryDirectory() + "fanmill-bench-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
      do { try FileManager.default.removeItem(atPath: folder) } catch { log.warning("\(folder) is left: \(error)") }
    }
    let redis = try await PrivateRedis.start()
    let loop = EventLoop()
    let client = RedisClient(configuration: try RedisConfiguration(url: redis.url), loop: loop, logger: logger)
    let database = withDatabase ? try await Database.start(loop: loop, logger: logger) : nil
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      if let database {
        group.addTask { await database.pool.run() }
        try await Programs(redis: redis.url, postgres: database.url).migrate()
      }
      let stage = Stage(
        redis: redis, client: client, broker: try await RedisBroker(client: client, logger: log), database: database,
        sidekiq: try await Sidekiq.find(redisSocket: redis.socket, folder: folder),
        board: try Board(path: folder + "/board"), loop: loop, logger: log, folder: folder, runs: runs)
      let result = try await body(stage)
      group.cancelAll()
      return result
    }
  }

  /// Reports progress on standard error; the table comes at the end.
  func note(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }

  var redisSocket: String { redis.socket }

  func flush() async throws { try await client.send(RedisCommand("FLUSHALL")) }

  /// Starts this program as a separate worker process and waits until it serves.
  ///
  /// - Parameter database: the ledger's database; nil for a worker with only the broker.
  func startWorker(
    queues: [QueueName] = [.default], database: Database? = nil, collector: UInt16? = nil
  ) async throws -> Child {
    board.reset()
    var words = ["/proc/\(getpid())/exe", "worker", "--redis", redis.url, "--board", board.path]
    if let database { words += ["--postgres", database.url] }
    if let collector { words += ["--collector", "http://127.0.0.1:\(collector)"] }
    words += queues.flatMap { ["--queue", $0.rawValue] }
    let child = try await Child.start(words)
    while !board.isReady {
      guard child.isRunning else { throw BenchError("the worker child ended at once") }
      try await Task.sleep(for: .milliseconds(1))
    }
    return child
  }

  /// Starts several workers with only the broker, and waits until all of them have joined the queue.
  func startWorkers(_ count: Int) async throws -> [Child] {
    board.reset()
    var children: [Child] = []
    for _ in 0..<count {
      children.append(
        try await Child.start([
          "/proc/\(getpid())/exe", "worker", "--redis", redis.url, "--board", board.path, "--queue",
          QueueName.default.rawValue,
        ]))
    }
    try await wait(for: children, toJoin: .default)
    return children
  }

  private func wait(for workers: [Child], toJoin queue: QueueName) async throws {
    while try await broker.depth(of: queue).workers < workers.count {
      guard workers.allSatisfy(\.isRunning) else { throw BenchError("a worker ended at once") }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Lets a worker drain a queue, and stops it.
  ///
  /// - Returns: the seconds from joining the queue to the end.
  /// - Throws: also if the ledger has pending jobs at the end.
  func drain(_ queue: QueueName, by worker: Child) async throws -> Double {
    try await wait(for: [worker], toJoin: queue)
    let start = ContinuousClock.now
    try await waitForEmpty(queue, within: .seconds(120))
    let seconds = start.duration(to: .now) / .seconds(1)
    try await worker.stop()
    try BenchError.check("jobs that the ledger owes", try await needDatabase().pendingJobs(), equals: 0)
    return seconds
  }

  /// A number from Redis' INFO.
  func redisInfo(_ section: String, _ field: String) async throws -> Double {
    let text = try await client.send(RedisCommand("INFO", section)).text ?? ""
    let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(field + ":") }
    guard let number = line?.split(separator: ":").last.flatMap({ Double($0) }) else {
      throw BenchError("Redis does not say its \(field)")
    }
    return number
  }

  /// The CPU time that Redis has used so far, in seconds.
  func redisProcessorSeconds() async throws -> Double {
    try await redisInfo("cpu", "used_cpu_user") + redisInfo("cpu", "used_cpu_sys")
  }

  /// The database of a measurement that declared that it needs one.
  func needDatabase() throws -> Database {
    guard let database else { throw BenchError("the stage was set without Postgres") }
    return database
  }

  /// Fanmill's executables, on the stage's servers.
  func programs() throws -> Programs { try Programs(redis: redis.url, postgres: try needDatabase().url) }

  /// Waits until the worker child has handled `count` jobs.
  func waitForCount(_ count: Int, by child: Child, within limit: Duration = .seconds(120)) async throws {
    let deadline = ContinuousClock.now + limit
    while board.counted < count {
      guard child.isRunning, .now < deadline else {
        throw BenchError("the worker did \(board.counted) of \(count) jobs")
      }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Waits until the broker has no jobs of `queue`.
  func waitForEmpty(_ queue: QueueName = .default, within limit: Duration = .seconds(30)) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
      let left = try await broker.depth(of: queue)
      if left.ready + left.claimed + left.delayed == 0 { return }
      guard .now < deadline else { throw BenchError("the broker still holds \(left)") }
      try await Task.sleep(for: .milliseconds(1))
    }
  }
}
