import Locking
import Logging
import Metrics

/// Pushes again what the ledger owes and the broker does not know: the jobs of a process that died between commit and push,
/// of a push that the broker shed, of a broker that lost its memory.
///
/// One worker at a time does it for all that serve the same queues.
struct Relay<B: Broker, L: Ledger>: Sendable {
  let broker: B
  let ledger: L
  let kinds: [JobKind: Int]
  let configuration: WorkerConfiguration
  let epochs: Epochs
  let logger: Logger
  /// Jobs that were pushed again.
  private let relayed: [QueueName: Counter]

  private let page = 1000

  init(
    broker: B, ledger: L, kinds: [JobKind: Int], configuration: WorkerConfiguration, epochs: Epochs, logger: Logger
  ) {
    self.broker = broker
    self.ledger = ledger
    self.kinds = kinds
    self.configuration = configuration
    self.epochs = epochs
    self.logger = logger
    relayed = Dictionary(
      uniqueKeysWithValues: configuration.queues.keys.map {
        ($0, Counter(label: "fanmill_relayed_jobs_total", dimensions: [("queue", $0.rawValue)]))
      })
  }

  /// Leads, or waits to lead, until cancelled.
  func run() async {
    let role = "relay:" + configuration.queues.keys.sorted().map(\.rawValue).joined(separator: ",")
    var backoff = Backoff()
    while !Task.isCancelled {
      do {
        try await ledger.lead(role) { try await relay() }
      } catch {
        if Task.isCancelled { return }
        logger.warning("the relay is interrupted", metadata: [LogKeys.error: "\(error)"])
      }
      await backoff.pause(until: nil)
    }
  }

  /// Sweeps each queue: all of it when the broker's epoch is new, else what is old enough to have arrived.
  private func relay() async throws {
    var swept: [QueueName: String] = [:]
    var troubled: Set<QueueName> = []
    var nextSweep = ContinuousClock.now
    while true {
      let begun = ContinuousClock.now
      let isDue = begun >= nextSweep
      for (queue, epoch) in epochs.all {
        do {
          if swept[queue] != epoch {
            let pushed = try await sweep(queue, olderThan: .zero)
            if pushed > 0 {
              logger.notice(
                "the broker did not know jobs that are owed; they are pushed again",
                metadata: [LogKeys.queue: "\(queue)", LogKeys.count: "\(pushed)"])
            }
            swept[queue] = epoch
          } else if isDue {
            let pushed = try await sweep(queue, olderThan: configuration.relayAge)
            if pushed > 0 {
              logger.info(
                "owed jobs are pushed again",
                metadata: [LogKeys.queue: "\(queue)", LogKeys.count: "\(pushed)"])
            }
          }
          troubled.remove(queue)
        } catch let error as BrokerError {
          // The other queues go on: in a cluster their masters may be well.
          if troubled.insert(queue).inserted {
            logger.warning(
              "jobs that are owed cannot be compared with the broker's",
              metadata: [LogKeys.queue: "\(queue)", LogKeys.error: "\(error)"])
          }
        }
      }
      // Where millions wait, a sweep takes long: at most half of the time is spent on them.
      if isDue { nextSweep = .now + max(configuration.relayInterval, begun.duration(to: .now)) }
      try await Task.sleep(for: min(configuration.heartbeat, configuration.relayInterval) / 2)
    }
  }

  /// Owes again what is parked and this worker can run, until cancelled: every worker does it, for each may know kinds that
  /// the others do not. Being old and unknown to the broker, the jobs are then pushed by whoever relays.
  func unpark() async {
    while !Task.isCancelled {
      do {
        for queue in configuration.queues.keys {
          let count = try await ledger.unpark(queue: queue, kinds: kinds)
          if count > 0 {
            logger.info(
              "parked jobs are owed again", metadata: [LogKeys.queue: "\(queue)", LogKeys.count: "\(count)"])
          }
        }
      } catch {
        if Task.isCancelled { return }
        logger.warning("parked jobs cannot be looked at", metadata: [LogKeys.error: "\(error)"])
      }
      do { try await Task.sleep(for: configuration.relayInterval) } catch { return }
    }
  }

  /// - Returns: how many jobs were pushed again.
  func sweep(_ queue: QueueName, olderThan age: Duration) async throws -> Int {
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
        relayed[queue]?.increment(by: records.count)
      }
      guard ids.count == page, let last = ids.last else { return pushed }
      after = last
      // Millions may wait while all is well: looking through them must not compete with the work.
      if unknown.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    }
  }
}

/// The broker's epoch of each queue that the worker serves, as its heartbeats found it.
final class Epochs: Sendable {
  private let epochs = Locked<[QueueName: String]>([:])

  var all: [(QueueName, String)] { epochs.withLock { $0.sorted { $0.key < $1.key } } }

  func note(_ epoch: String, of queue: QueueName) { epochs.withLock { $0[queue] = epoch } }
}
