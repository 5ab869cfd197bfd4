import DurableJobs
import Foundation
import Locking
import Logging

/// A queue for tests of jobs, with real workers, an in-memory broker and a clock that only the test moves.
///
/// ```swift
/// let queue = try TestQueue(registry)
/// try await queue.client.enqueue(ChargeCard(order: 7, cents: 1999))
/// let drained = try await queue.drain()
/// #expect(drained.completed == 1 && drained.dead == 0)
/// #expect(try await queue.enqueued(SendReceipt.self).map(\.order) == [7])
/// ```
public struct TestQueue<L: Ledger>: Sendable {
  public typealias Client = JobClient<InMemoryBroker, L>

  public let broker: InMemoryBroker
  public let ledger: L
  /// Moves every timer of the worker, the broker and the client. It starts at the current time.
  public let clock: ManualClock
  /// Enqueues and pushes jobs.
  public let client: Client
  private let registry: JobRegistry<L>
  private let middleware: [any JobMiddleware]
  private let logger: Logger

  /// - Parameters:
  ///   - ledger: such as a `PostgresLedger` on the test's own database.
  ///   - middleware: that of the app's workers and clients.
  public init(
    _ registry: JobRegistry<L>, ledger: L, middleware: [any JobMiddleware] = [],
    logger: Logger = Logger(label: "jobs") { _ in SwiftLogNoOpLogHandler() }
  ) {
    clock = ManualClock(startingAt: JobClock.now)
    broker = InMemoryBroker(clock: clock)
    self.ledger = ledger
    self.registry = registry
    self.middleware = middleware
    self.logger = logger
    client = Client(broker: broker, ledger: ledger, middleware: middleware, clock: clock, logger: logger)
  }

  // MARK: Run

  /// Calls a job's handler once, directly, and ends the job. Jobs that the handler enqueues wait, and nothing is
  /// retried.
  ///
  /// - Parameter attempt: the attempt's number for the handler.
  /// - Throws: the handler's error; `KindUnknown` if the kind has no handler.
  public func runInline<J: Job>(_ job: J, attempt: Int = 1) async throws {
    let record = try JobRecord(job, isDurable: true, clock: clock)
    _ = try await ledger.withTransaction { try await ledger.add([record], in: $0) }
    do {
      guard try await registry.call(record, attempt: attempt, client: client, logger: logger) else {
        throw KindUnknown(kind: J.kind)
      }
    } catch {
      try await ledger.cancel([record.id], queue: record.queue)
      throw error
    }
    try await ledger.complete([record.id], queue: record.queue)
  }

  /// Runs due jobs, and those that they enqueue, until none is due.
  @discardableResult
  public func drain() async throws -> Drained {
    let tally = Tally()
    try await work(with: [tally]) { try await idle() }
    return tally.drained
  }

  /// Runs all jobs, and those that they enqueue, until none is left. The clock moves to the due time of each.
  ///
  /// - Parameter limit: how far the clock may move.
  @discardableResult
  public func drain(upTo limit: Duration) async throws -> Drained {
    let tally = Tally()
    let end = clock.now + limit / .seconds(1)
    try await work(with: [tally]) {
      while true {
        try await idle()
        guard let due = await broker.nextDue(in: queues) else { return }
        // The broker counts in instants, the test in dates.
        let moment = clock.now + (due - clock.instant) / .seconds(1)
        if moment > end { return clock.move(to: end) }
        clock.move(to: max(moment, clock.now + 0.001))
      }
    }
    return tally.drained
  }

  /// Runs a worker beside `body`, which may move the clock.
  @discardableResult
  public func work<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
    try await work(with: [], body)
  }

  private func work<Result: Sendable>(
    with more: [any JobMiddleware], _ body: @Sendable () async throws -> Result
  ) async throws -> Result {
    var configuration = WorkerConfiguration(
      queues: Dictionary(uniqueKeysWithValues: queues.map { ($0, 4) }))
    configuration.clock = clock
    configuration.middleware = more + middleware
    // The lease must outlive a clock that moves by hours at once.
    configuration.lease = .days(36_500)
    let worker = Worker(
      broker: broker, ledger: ledger, registry: registry, configuration: configuration, logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      defer { group.cancelAll() }
      return try await body()
    }
  }

  private var queues: Set<QueueName> { Set(registry.queues).union([.default]) }

  /// Waits until no job is due or running.
  private func idle() async throws {
    while true {
      // A worker's heartbeat does this too, but only when the clock next moves.
      await broker.promote(dueIn: queues)
      if await broker.isIdle(in: queues), try await isPushed() { return }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Whether the broker knows all pending jobs.
  private func isPushed() async throws -> Bool {
    for queue in queues {
      let pending = try await ledger.pendingIDs(
        queue: queue, after: nil, before: JobID(high: .max, low: .max), limit: 10_000)
      if await !broker.missing(pending, in: queue).isEmpty { return false }
    }
    return true
  }

  // MARK: Expectations

  /// The waiting jobs of a kind, durable and pushed, in the order in which they were enqueued, from all queues of the
  /// registry and the kind's own.
  ///
  /// - Throws: any error of decoding.
  public func enqueued<J: Job>(_ type: J.Type) async throws -> [J] {
    try await records(of: type).map { try J(payload: $0.payload, version: $0.version) }
  }

  /// The records of the jobs that `enqueued` returns, with their queues, due times and keys.
  public func records<J: Job>(of type: J.Type) async throws -> [JobRecord] {
    var found: [JobRecord] = []
    for queue in queues.union([J.queue]) {
      let ids = try await ledger.pendingIDs(
        queue: queue, after: nil, before: JobID(high: .max, low: .max), limit: 10_000)
      let payloads = try await ledger.payloads(ids, queue: queue)
      found += try await ledger.records(ids, queue: queue).map { record in
        var record = record
        record.payload = payloads[record.id] ?? record.payload
        record.payloadInLedger = nil
        return record
      }
      found += await broker.waiting(in: queue).filter { !$0.isDurable }
    }
    return found.filter { $0.kind == J.kind }.sorted { $0.id < $1.id }
  }
}

extension TestQueue where L == InMemoryLedger {
  /// - Parameter middleware: that of the app's workers and clients.
  public init(_ registry: JobRegistry<InMemoryLedger>, middleware: [any JobMiddleware] = []) {
    self.init(registry, ledger: InMemoryLedger(), middleware: middleware)
  }

  /// The dead letters, each with its errors.
  public var dead: [DeadJob] { ledger.dead }
}

/// How the attempts of a drain ended.
public struct Drained: Sendable, Hashable {
  public var completed = 0
  /// Failed attempts that were to be retried.
  public var failed = 0
  public var dead = 0
  public var discarded = 0
  public var snoozed = 0
  /// Jobs whose kind or payload version is not registered.
  public var parked = 0

  public init(
    completed: Int = 0, failed: Int = 0, dead: Int = 0, discarded: Int = 0, snoozed: Int = 0, parked: Int = 0
  ) {
    self.completed = completed
    self.failed = failed
    self.dead = dead
    self.discarded = discarded
    self.snoozed = snoozed
    self.parked = parked
  }
}

/// A job's kind is not registered.
public struct KindUnknown: Error, Hashable, CustomStringConvertible {
  public let kind: JobKind

  public init(kind: JobKind) { self.kind = kind }

  public var description: String { "the kind '\(kind)' has no handler: register one" }
}

private final class Tally: JobMiddleware {
  private let counts = Locked(Drained())
  var drained: Drained { counts.withLock { $0 } }
  var hooks: JobHooks { .ended }

  func ended(_ end: AttemptEnd, logger: Logger) {
    counts.withLock { counts in
      switch end.outcome {
      case .completed: counts.completed += 1
      case .failed: counts.failed += 1
      case .dead: counts.dead += 1
      case .discarded: counts.discarded += 1
      case .snoozed: counts.snoozed += 1
      case .parked: counts.parked += 1
      default: break
      }
    }
  }
}

extension InMemoryBroker {
  fileprivate func promote(dueIn names: Set<QueueName>) {
    for name in names { promoteDue(in: name) }
  }

  /// Whether no job of `names` is ready, claimed or due.
  fileprivate func isIdle(in names: Set<QueueName>) -> Bool {
    names.allSatisfy { name in
      guard let queue = queues[name] else { return true }
      return queue.readyCount == 0 && queue.claimed.isEmpty && !queue.delayed.contains { $0.due <= clock.instant }
    }
  }

  /// When the next delayed job is due.
  fileprivate func nextDue(in names: Set<QueueName>) -> ContinuousClock.Instant? {
    names.compactMap { queues[$0]?.delayed.map(\.due).min() }.min()
  }

  /// The records of jobs that no consumer holds.
  fileprivate func waiting(in name: QueueName) -> [JobRecord] {
    guard let queue = queues[name] else { return [] }
    let ready = Array(queue.returned.values) + Array(queue.ready.values)
    return ready.flatMap { $0.map(\.record) } + queue.delayed.map(\.record)
  }
}
