#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import HiredisClient
import Locking
import Logging
import Reactor

/// The broker on Redis Streams (7.0 or later): ready jobs are in one stream per priority, claims are its pending
/// entries, delayed jobs are in a sorted set, and each transition is one script.
///
/// All keys of a queue share one hash slot, so a cluster spreads the queues over its masters and each queue works as on
/// a single server.
///
/// ```swift
/// let broker = try await RedisBroker(client: client, logger: logger)
/// ```
public struct RedisBroker: Broker {
  /// The default prefix of keys.
  public static let standardPrefix = "fanmill"

  /// The client of its servers.
  public let client: RedisClient
  private let prefix: String
  private let logger: Logger
  private let pressure: MemoryPressure

  /// The number of jobs in one script: enough to be worth a round trip, few enough not to hold up others.
  static let scriptBatch = 500

  /// - Parameters:
  ///   - client: its `run()` must be running.
  ///   - prefix: the prefix of every key.
  /// - Throws: `BrokerError` with code `unsafeConfiguration` for a server that could evict jobs or is too old.
  public init(client: RedisClient, prefix: String = standardPrefix, logger: Logger) async throws(BrokerError) {
    self.client = client
    self.prefix = prefix
    self.logger = logger
    pressure = MemoryPressure()
    let facts = try await ServerFacts.ask(client)
    if let problem = facts.problem { throw BrokerError(.unsafeConfiguration, problem) }
    pressure.note(facts)
  }

  public var executor: (any TaskExecutor)? { client.loop.taskExecutor }

  func keys(of queue: QueueName) -> QueueKeys { QueueKeys(prefix: prefix, queue: queue) }

  public func push(_ jobs: [JobRecord]) async throws { try await push(jobs, Scripts.push) }

  public func repush(_ jobs: [JobRecord]) async throws { try await push(jobs, Scripts.repush) }

  private func push(_ jobs: [JobRecord], _ script: RedisScript) async throws {
    if jobs.isEmpty { return }
    do {
      try await shedLoad()
      // Calls usually carry jobs of one queue; several queues take a push each.
      if let queue = jobs.first?.queue, jobs.allSatisfy({ $0.queue == queue }) {
        try await push(jobs[...], to: queue, script)
      } else {
        for (queue, group) in Dictionary(grouping: jobs, by: \.queue) { try await push(group[...], to: queue, script) }
      }
    } catch let error as BrokerError where error.code == .full {
      await hold(jobs)
      throw error
    }
  }

  private func push(_ jobs: ArraySlice<JobRecord>, to queue: QueueName, _ script: RedisScript) async throws {
    let keys = keys(of: queue)
    // A job that is neither in the ledger nor delayed cannot be known already.
    let isPlain = { (job: JobRecord) in !job.isDurable && job.runAt == nil }
    if jobs.allSatisfy(isPlain) { return try await add(jobs, keys) }
    let plain = jobs.filter(isPlain)
    if !plain.isEmpty { try await add(plain[...], keys) }
    try await pushAll(jobs.filter { !isPlain($0) }[...], script, keys) { job, command in
      command.append(try RecordArgument(job))
      command.append(job.runAt?.unixMilliseconds ?? 0)
    }
  }

  private func add(_ jobs: ArraySlice<JobRecord>, _ keys: QueueKeys) async throws {
    if jobs.count == 1, let job = jobs.first {
      let command = RedisCommand(
        "XADD", keys.streams[Int(job.priority.rawValue)], "*", "j", try RecordArgument(job))
      return try await translate { () async throws(RedisError) in
        try await client.send(command) { _ throws(RedisError) in }
      }
    }
    // One script for many jobs: a command each would spend more on sending and replies than on the work.
    try await pushAll(jobs, Scripts.add, keys) { job, command in command.append(try RecordArgument(job)) }
  }

  private func pushAll(
    _ jobs: ArraySlice<JobRecord>, _ script: RedisScript, _ keys: QueueKeys,
    _ append: (JobRecord, inout RedisCommand) throws -> Void
  ) async throws {
    // Each pipeline is bounded by its bytes, and each script in it also by its number of jobs.
    for pipeline in jobs.batches() {
      try await push(pipeline.batches(of: Self.scriptBatch), script, keys, append)
    }
  }

  private func push(
    _ batches: [ArraySlice<JobRecord>], _ script: RedisScript, _ keys: QueueKeys,
    _ append: (JobRecord, inout RedisCommand) throws -> Void
  ) async throws {
    func call(_ start: RedisCommand, _ batch: ArraySlice<JobRecord>) throws -> RedisCommand {
      var command = start
      command.reserve(batch.reduce(0) { $0 + $1.carriedBytes + 80 })
      for job in batch { try append(job, &command) }
      return command
    }
    let commands = try batches.map { try call(script.command(keys: keys.all), $0) }
    let results = try await translate { () async throws(RedisError) in
      try await client.send(pipeline: commands) { reply throws(RedisError) in reply.integer }
    }
    for (batch, result) in zip(batches, results) {
      var added: Int64
      switch result {
      case .success(let count): added = count
      case .failure(let error):
        guard error.serverPrefix == "NOSCRIPT" else { throw Self.error(error) }
        // Sent with its source: while a slot moves, the script may run on a server that has not cached it yet.
        let command = try call(script.commandWithSource(keys: keys.all), batch)
        added = try await translate { () async throws(RedisError) in
          try await client.send(command) { reply throws(RedisError) in reply.integer }
        }
      }
      if added < 0 { throw Self.held }
    }
  }

  public func join(_ queue: QueueName, worker: String, lease: Duration) async throws -> RedisConsumer {
    let consumer = RedisConsumer(
      client: client, keys: keys(of: queue), queue: queue, worker: worker, lease: lease, logger: logger)
    try await consumer.join()
    return consumer
  }

  public func missing(_ ids: [JobID], in queue: QueueName) async throws -> [JobID] {
    if ids.isEmpty { return [] }
    var command = RedisCommand("HMGET", keys(of: queue).known)
    for id in ids { command.append(id.bytes) }
    let sent = command
    return try await translate { () async throws(RedisError) in
      try await client.send(sent) { reply throws(RedisError) in
        var unknown: [JobID] = []
        for index in 0..<min(reply.count, ids.count) where reply[index].isNull { unknown.append(ids[index]) }
        return unknown
      }
    }
  }

  /// Makes the delayed jobs of `ids` in `queue` ready at once, at an operator's request.
  ///
  /// - Returns: those that were delayed.
  @discardableResult
  public func promote(_ ids: [JobID], in queue: QueueName) async throws -> [JobID] {
    let arguments = ids.map { $0.bytes as any RedisArgument }
    return try await translate { () async throws(RedisError) in
      try await client.evaluate(Scripts.promote, keys: keys(of: queue).all, arguments: arguments) {
        reply throws(RedisError) in
        Self.ids(in: reply)
      }
    }
  }

  /// The server's memory facts: its use, limit and policy.
  public func memory() async throws(BrokerError) -> ServerFacts { try await ServerFacts.ask(client, ["memory"]) }

  // MARK: Jobs that were refused

  private static let held = BrokerError(
    .full, "Redis refused older jobs of the queue; a worker's relay pushes those first, then this one")

  /// Holds the queues of refused durable jobs, so that newer ones do not overtake them once there is room.
  private func hold(_ jobs: [JobRecord]) async {
    for (queue, group) in Dictionary(grouping: jobs.filter(\.isDurable), by: \.queue) {
      guard let oldest = group.map(\.id.milliseconds).min() else { continue }
      do {
        try await client.evaluate(Scripts.hold, keys: [keys(of: queue).known], arguments: [oldest]) {
          _ throws(RedisError) in
        }
      } catch {
        // Only the order is lost at worst: the jobs are pending.
        logger.debug("cannot hold a queue", metadata: [LogKeys.queue: "\(queue)", LogKeys.error: "\(error)"])
      }
    }
  }

  public func hold(of queue: QueueName) async throws -> Date? {
    try await translate { () async throws(RedisError) in
      try await client.send(RedisCommand("HGET", keys(of: queue).known, Scripts.held)) { reply throws(RedisError) in
        reply.text.flatMap { Int64($0) }.map { Date(unixMilliseconds: $0) }
      }
    }
  }

  public func endHold(of queue: QueueName) async throws {
    try await translate { () async throws(RedisError) in
      try await client.send(RedisCommand("HDEL", keys(of: queue).known, Scripts.held)) { _ throws(RedisError) in }
    }
  }

  // MARK: Errors and load

  /// Refuses new jobs before Redis is full: claims and acknowledgements still need room.
  private func shedLoad() async throws {
    if pressure.isDueForCheck() {
      let facts = try await ServerFacts.ask(client)
      pressure.note(facts)
      if let problem = facts.problem { logger.error("\(problem)") }
    }
    if let message = pressure.refusal { throw BrokerError(.full, message) }
  }

  func translate<Output: Sendable>(
    _ body: () async throws(RedisError) -> Output
  ) async throws(BrokerError) -> Output {
    do throws(RedisError) {
      return try await body()
    } catch {
      throw Self.error(error)
    }
  }

  static func error(_ error: RedisError) -> BrokerError {
    switch (error.code, error.serverPrefix) {
    case (_, "OOM"): BrokerError(.full, "Redis is full: \(error.message)", underlying: error)
    case (.server, _): BrokerError(.unexpectedReply, "\(error)", underlying: error)
    default: BrokerError(.unavailable, "\(error)", underlying: error)
    }
  }
}

extension RedisBroker {
  public func depth(of queue: QueueName) async throws -> QueueDepth {
    let numbers = try await numbers(8, AdminScripts.depth, of: queue)
    return QueueDepth(
      high: Int(numbers[0]), normal: Int(numbers[1]), low: Int(numbers[2]), claimed: Int(numbers[3]),
      delayed: Int(numbers[4]), known: Int(numbers[5]), workers: Int(numbers[6]),
      oldestReadyAt: numbers[7] < 0 ? nil : Date(unixMilliseconds: numbers[7]))
  }

  /// The number of durable jobs that the broker knows in a queue.
  public func knownCount(in queue: QueueName) async throws -> Int {
    try await translate { () async throws(RedisError) in
      try await client.send(RedisCommand("HLEN", keys(of: queue).known)) { reply throws(RedisError) in
        Int(reply.integer)
      }
    }
  }

  public func rememberPause(_ isPaused: Bool, of queue: QueueName) async throws {
    let key = keys(of: queue).paused
    let command = isPaused ? RedisCommand("SET", key, 1) : RedisCommand("DEL", key)
    try await translate { () async throws(RedisError) in try await client.send(command) { _ throws(RedisError) in } }
  }

  public func remembersPause(of queue: QueueName) async throws -> Bool {
    let key = keys(of: queue).paused
    return try await translate { () async throws(RedisError) in
      try await client.send(RedisCommand("EXISTS", key)) { reply throws(RedisError) in reply.integer == 1 }
    }
  }

  func numbers(_ count: Int, _ script: RedisScript, of queue: QueueName) async throws -> [Int64] {
    let numbers = try await evaluate(script, on: queue) { reply throws(RedisError) in
      var numbers: [Int64] = []
      for index in 0..<reply.count { numbers.append(reply[index].integer) }
      return numbers
    }
    guard numbers.count == count else {
      throw BrokerError(
        .unexpectedReply, "Redis returned \(numbers.count) numbers for the depth of \(queue) instead of \(count)")
    }
    return numbers
  }

  public func remove(_ ids: [JobID], from queue: QueueName) async throws -> [JobID] {
    try await inBatches(ids) { batch in
      try await evaluate(AdminScripts.remove, on: queue, batch.map(\.bytes)) { reply throws(RedisError) in
        Self.ids(in: reply)
      }
    }
  }

  public func reschedule(_ ids: [JobID], in queue: QueueName, to due: Date) async throws -> [JobID] {
    try await inBatches(ids) { batch in
      try await evaluate(AdminScripts.reschedule, on: queue, [due.unixMilliseconds] + batch.map(\.bytes)) {
        reply throws(RedisError) in
        Self.ids(in: reply)
      }
    }
  }

  public func clear(_ queue: QueueName) async throws -> Int {
    var cleared = 0
    while true {
      let removed = try await evaluate(AdminScripts.clear, on: queue, [Self.scriptBatch]) { reply throws(RedisError) in
        Int(reply.integer)
      }
      if removed == 0 { return cleared }
      cleared += removed
    }
  }

  private func inBatches(_ ids: [JobID], _ body: (ArraySlice<JobID>) async throws -> [JobID]) async throws -> [JobID] {
    var done: [JobID] = []
    var rest = ids[...]
    while !rest.isEmpty {
      done += try await body(rest.prefix(Self.scriptBatch))
      rest = rest.dropFirst(Self.scriptBatch)
    }
    return done
  }

  private func evaluate<Output: Sendable>(
    _ script: RedisScript, on queue: QueueName, _ arguments: [any RedisArgument] = [],
    _ decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws -> Output {
    try await translate { () async throws(RedisError) in
      try await client.evaluate(script, keys: keys(of: queue).all, arguments: arguments, decode: decode)
    }
  }

  private static func ids(in reply: borrowing RedisReply) -> [JobID] {
    var ids: [JobID] = []
    for index in 0..<reply.count {
      if let id = JobID(bytes: reply[index].bytes) { ids.append(id) }
    }
    return ids
  }
}

extension RedisBroker {
  /// Removes a queue and everything in it, such as one made for a load test. The relay pushes the jobs pending in the
  /// ledger again.
  public func forget(_ queue: QueueName) async throws(BrokerError) {
    do throws(RedisError) {
      try await client.send(
        RedisCommand([any RedisArgument](["UNLINK", keys(of: queue).paused] + keys(of: queue).all)))
    } catch {
      throw Self.error(error)
    }
  }
}
