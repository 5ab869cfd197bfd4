@_spi(Testing) import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import Locking
import Logging
import TestSupport

/// An in-memory broker and ledger, with workers on them.
struct Stage: Sendable {
  typealias Registry = JobRegistry<InMemoryLedger>
  let broker = InMemoryBroker()
  let ledger = InMemoryLedger()

  var client: JobClient<InMemoryBroker, InMemoryLedger> {
    JobClient(broker: broker, ledger: ledger, logger: .quiet)
  }

  /// Frequent heartbeats, so that delays of milliseconds end soon, and leases that do not expire on their own.
  ///
  /// - Parameter claimsAhead: whether more is claimed than runs right from the start, as where jobs are known to be
  ///   fast.
  static func configuration(
    concurrency: Int = 4, queue: QueueName = .default, claimsAhead: Bool = false
  ) -> WorkerConfiguration {
    var configuration = WorkerConfiguration(queues: [queue: concurrency])
    if claimsAhead { configuration.assumedJobTime = .milliseconds(1) }
    configuration.lease = .seconds(120)
    configuration.heartbeat = .milliseconds(10)
    configuration.relayInterval = .milliseconds(30)
    configuration.relayAge = .milliseconds(30)
    return configuration
  }

  @discardableResult
  func work<Result: Sendable>(
    _ registry: Registry, _ configuration: WorkerConfiguration = configuration(),
    _ body: @Sendable (RunningWorker) async throws -> Result
  ) async throws -> Result {
    let worker = Worker(
      broker: broker, ledger: ledger, registry: registry, configuration: configuration, logger: .quiet)
    return try await RunningWorker.run(worker, body)
  }

  func counts(_ queue: QueueName = .default) async -> QueueCounts { await broker.depth(of: queue).counts }

  /// Waits until neither ledger nor broker has any work left.
  func settled(_ queue: QueueName = .default) async throws {
    try await eventually("everything is settled") {
      let now = await counts(queue)
      return ledger.pendingCount(in: queue) == 0 && now.ready + now.claimed + now.delayed == 0
    }
  }
}

/// The actions of handlers, in order.
final class Journal<Entry: Sendable>: Sendable {
  private let list = Locked<[Entry]>([])
  var entries: [Entry] { list.withLock { $0 } }
  func note(_ entry: Entry) { list.withLock { $0.append(entry) } }
}

struct Numbered: Job {
  static let kind: JobKind = "test.numbered"
  static let retry = RetryPolicy(maxAttempts: 3, base: .milliseconds(1), cap: .milliseconds(4))
  var number: Int
}

/// Enqueued in a handler's transaction: each row in a queue that no worker serves counts an effect.
struct Effect: Job {
  static let kind: JobKind = "test.effect"
  static let queue: QueueName = "effects"
  var number: Int
}

struct Failure: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

extension Stage {
  /// The numbers of the effects, sorted.
  func effects() throws -> [Int] {
    let ids = ledger.pendingIDs(queue: Effect.queue, after: nil, before: JobID(high: .max, low: 0), limit: 100_000)
    return try ledger.records(ids, queue: Effect.queue)
      .map { try Effect(payload: $0.payload, version: 1).number }.sorted()
  }
}
