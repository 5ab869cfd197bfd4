import Logging

/// Pushes again what the ledger owes and the broker does not know: the jobs of a process that died between commit and push,
/// of a push that the broker shed, of a broker that lost its memory.
struct Relay<B: Broker, L: Ledger>: Sendable {
  let queue: QueueName
  let broker: B
  let ledger: L
  let kinds: [JobKind: Int]
  let configuration: WorkerConfiguration
  let logger: Logger

  private let page = 1000

  /// Sweeps until cancelled: everything when the broker's epoch is new, else what is old enough to have arrived.
  func run(epoch: @Sendable () async -> String) async throws {
    var sweptEpoch: String?
    var lastSweep: ContinuousClock.Instant?
    while true {
      let current = await epoch()
      if current != sweptEpoch {
        let pushed = try await sweep(olderThan: .zero)
        if pushed > 0 {
          logger.notice("the broker had forgotten jobs; they are pushed again", metadata: [LogKeys.count: "\(pushed)"])
        }
        sweptEpoch = current
      } else if lastSweep.map({ .now - $0 >= configuration.relayInterval }) ?? true {
        let unparked = try await ledger.unpark(queue: queue, kinds: kinds)
        if unparked > 0 { logger.info("parked jobs are owed again", metadata: [LogKeys.count: "\(unparked)"]) }
        // What was parked is old and unknown to the broker, so the sweep pushes it.
        let pushed = try await sweep(olderThan: configuration.relayAge)
        if pushed > 0 { logger.info("owed jobs are pushed again", metadata: [LogKeys.count: "\(pushed)"]) }
        lastSweep = .now
      }
      try await Task.sleep(for: min(configuration.heartbeat, configuration.relayInterval) / 2)
    }
  }

  /// - Returns: how many jobs were pushed again.
  func sweep(olderThan age: Duration) async throws -> Int {
    let before = JobID.least(at: unixMilliseconds() - age.milliseconds + 1)
    var after: JobID?
    var pushed = 0
    while true {
      let ids = try await ledger.owedIDs(queue: queue, after: after, before: before, limit: page)
      let unknown = try await broker.unknown(ids, in: queue)
      if !unknown.isEmpty {
        // Read again: a job that was settled between the two questions is neither owed nor known.
        let records = try await ledger.records(unknown, queue: queue)
        try await broker.push(records)
        pushed += records.count
      }
      guard ids.count == page, let last = ids.last else { return pushed }
      after = last
      // Millions may wait while all is well: looking through them must not compete with the work.
      if unknown.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    }
  }
}
