import Jobs
import Redis

extension RedisBroker {
  public func depth(of queue: QueueName) async throws -> QueueDepth {
    let numbers = try await evaluate(Scripts.depth, on: queue) { reply throws(RedisError) in
      var numbers: [Int64] = []
      for index in 0..<reply.count { numbers.append(reply[index].integer) }
      return numbers
    }
    guard numbers.count == 8 else {
      throw BrokerError(.unexpectedReply, "Redis gave \(numbers.count) numbers for the depth of \(queue) instead of 8")
    }
    return QueueDepth(
      high: Int(numbers[0]), normal: Int(numbers[1]), low: Int(numbers[2]), claimed: Int(numbers[3]),
      delayed: Int(numbers[4]), known: Int(numbers[5]), workers: Int(numbers[6]),
      oldestReadyAt: numbers[7] < 0 ? nil : numbers[7])
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
