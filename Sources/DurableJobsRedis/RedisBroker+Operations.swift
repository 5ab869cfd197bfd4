import DurableJobs
import HiredisClient

extension RedisBroker {
  public func depth(of queue: QueueName) async throws -> QueueDepth {
    let numbers = try await numbers(8, Scripts.depth, of: queue)
    return QueueDepth(
      high: Int(numbers[0]), normal: Int(numbers[1]), low: Int(numbers[2]), claimed: Int(numbers[3]),
      delayed: Int(numbers[4]), known: Int(numbers[5]), workers: Int(numbers[6]),
      oldestReadyAt: numbers[7] < 0 ? nil : numbers[7])
  }

  /// What of a queue's depth is worth watching all the time.
  public struct Backlog: Sendable, Hashable {
    public let ready: Int
    public let claimed: Int
    public let delayed: Int
    /// As in `QueueDepth`.
    public let oldestReadyAt: Int64?
  }

  /// How much there is to do in a queue. Of one in which there is nothing, Redis carries out three commands.
  public func backlog(of queue: QueueName) async throws -> Backlog {
    let numbers = try await numbers(4, Scripts.backlog, of: queue)
    return Backlog(
      ready: Int(numbers[0]), claimed: Int(numbers[1]), delayed: Int(numbers[2]),
      oldestReadyAt: numbers[3] < 0 ? nil : numbers[3])
  }

  /// How many durable jobs the broker knows in a queue.
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

  private func numbers(_ count: Int, _ script: RedisScript, of queue: QueueName) async throws -> [Int64] {
    let numbers = try await evaluate(script, on: queue) { reply throws(RedisError) in
      var numbers: [Int64] = []
      for index in 0..<reply.count { numbers.append(reply[index].integer) }
      return numbers
    }
    guard numbers.count == count else {
      throw BrokerError(
        .unexpectedReply, "Redis gave \(numbers.count) numbers for the depth of \(queue) instead of \(count)")
    }
    return numbers
  }

  /// A part of the durable jobs that the broker knows in a queue, whether ready, delayed or claimed.
  public struct KnownPage: Sendable {
    /// A job may come twice, since they are read while they change; none that stays is left out.
    public let ids: [JobID]
    /// Where the next page begins; nil after the last.
    public let next: String?
  }

  /// Pages of what the broker knows: every script that makes, moves or ends a durable job keeps it in one step with the
  /// job.
  ///
  /// - Parameters:
  ///   - cursor: nil for the first page.
  ///   - count: about how many a page has.
  public func known(in queue: QueueName, from cursor: String? = nil, count: Int) async throws -> KnownPage {
    let command = RedisCommand("HSCAN", keys(of: queue).known, cursor ?? "0", "COUNT", count)
    return try await translate { () async throws(RedisError) in
      try await client.send(command) { reply throws(RedisError) in
        guard reply.count == 2 else {
          throw RedisError(.protocol, "HSCAN was answered with \(reply.count) parts instead of 2")
        }
        let fields = reply[1]
        var ids: [JobID] = []
        for index in stride(from: 0, to: fields.count, by: 2) {
          if let id = JobID(bytes: fields[index].bytes) { ids.append(id) }
        }
        let next = reply[0].text
        return KnownPage(ids: ids, next: next == "0" ? nil : next)
      }
    }
  }

  public func remove(_ ids: [JobID], from queue: QueueName) async throws -> [JobID] {
    try await inBatches(ids) { batch in
      try await evaluate(Scripts.remove, on: queue, batch.map(\.bytes)) { reply throws(RedisError) in
        Self.ids(in: reply)
      }
    }
  }

  public func reschedule(_ ids: [JobID], in queue: QueueName, to due: Int64) async throws -> [JobID] {
    try await inBatches(ids) { batch in
      try await evaluate(Scripts.reschedule, on: queue, [due] + batch.map(\.bytes)) { reply throws(RedisError) in
        Self.ids(in: reply)
      }
    }
  }

  public func clear(_ queue: QueueName) async throws -> Int {
    var cleared = 0
    while true {
      let removed = try await evaluate(Scripts.clear, on: queue, [Self.scriptBatch]) { reply throws(RedisError) in
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
