import DurableJobs
import Locking
import TestSupport

/// Many jobs and several workers, with every kind of failure: handlers fail, leases end under running handlers, replies
/// get lost, workers die, the broker forgets everything. Each job's effect must exist exactly once.
///
/// A job's effect is another durable job that it enqueues in its transaction, in a queue that no worker serves.
public struct ExactlyOnce<B: Broker, L: Ledger>: Sendable {
  static var effects: QueueName { "effects" }

  struct Single: Job {
    static var kind: JobKind { "test.single" }
    static var retry: RetryPolicy {
      RetryPolicy(maxAttempts: 10_000, base: .milliseconds(1), cap: .milliseconds(30))
    }
    var number: Int
  }

  struct Batched: Job {
    static var kind: JobKind { "test.batched" }
    static var retry: RetryPolicy { Single.retry }
    var number: Int
  }

  /// Runs in batches that end their jobs themselves, some at a time.
  struct Opened: Job {
    static var kind: JobKind { "test.opened" }
    static var retry: RetryPolicy { Single.retry }
    var number: Int
  }

  struct Effect: Job {
    static var kind: JobKind { "test.effect" }
    static var queue: QueueName { effects }
    var number: Int
  }

  let broker: B
  let ledger: L
  let chaos: Chaos
  let jobs: Int
  let forgetEverything: @Sendable () async throws -> Void

  public init(
    broker: B, ledger: L, seed: UInt64, jobs: Int, forgetEverything: @escaping @Sendable () async throws -> Void
  ) {
    self.broker = broker
    self.ledger = ledger
    self.jobs = jobs
    self.forgetEverything = forgetEverything
    chaos = Chaos(seed: seed)
    print("exactly once: seed \(seed)")
  }

  /// Runs all jobs.
  ///
  /// - Returns: the numbers of the effects, sorted: `0..<jobs` if all went well.
  public func run() async throws -> [Int] {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<3 { group.addTask { await runWorkers(index) } }
      group.addTask { try await loseMemory() }
      try await enqueue()
      // After a period of failures the rest has to finish without any.
      try await eventually("most jobs are done", within: .seconds(300)) { try await pending(.default).count < jobs / 4 }
      chaos.end()
      try await eventually("all jobs are done", within: .seconds(300)) { try await pending(.default).isEmpty }
      // A job still running now is a second delivery, which its transaction must find out.
      try await eventually("the broker's ready, claimed and delayed jobs", is: [0, 0, 0], within: .seconds(300)) {
        let depth = try await broker.depth(of: .default)
        return [depth.ready, depth.claimed, depth.delayed]
      }
      group.cancelAll()
    }
    let effects = try await ledger.records(try await pending(Self.effects), queue: Self.effects)
    return try effects.map { try Effect(payload: $0.payload, version: 1).number }.sorted()
  }

  private func pending(_ queue: QueueName) async throws -> [JobID] {
    try await ledger.pendingIDs(queue: queue, after: nil, before: JobID(high: .max, low: 0), limit: 1_000_000)
  }

  private func enqueue() async throws {
    let client = JobClient(broker: ChaosBroker(broker, chaos: chaos), ledger: ledger, logger: .quiet)
    for start in stride(from: 0, to: jobs, by: 10) {
      let numbers = Array(start..<min(start + 10, jobs))
      try await client.transaction { transaction in
        try await transaction.enqueue(numbers.filter { $0 % 3 == 1 }.map { Single(number: $0) })
        try await transaction.enqueue(numbers.filter { $0 % 3 == 0 }.map { Batched(number: $0) })
        try await transaction.enqueue(numbers.filter { $0 % 3 == 2 }.map { Opened(number: $0) })
      }
    }
  }

  private var registry: JobRegistry<ChaosLedger<L>> {
    var registry = JobRegistry<ChaosLedger<L>>()
    registry.register(Single.self) { [chaos] job, context in
      try chaos.mayFail("before the transaction", 0.1)
      // Occasionally longer than a lease.
      if chaos.happens(0.02) { try await Task.sleep(for: .milliseconds(chaos.number(100..<600))) }
      try await context.transaction { transaction in
        try await transaction.enqueue(Effect(number: job.number))
        try chaos.mayFail("in the transaction", 0.1)
      }
      try chaos.mayFail("after the transaction", 0.05)
    }
    registry.registerBatch(Batched.self, upTo: 8) { [chaos] batch, transaction in
      try await transaction.enqueue(batch.map { Effect(number: $0.job.number) })
      if chaos.happens(0.02) { try await Task.sleep(for: .milliseconds(chaos.number(100..<600))) }
      try chaos.mayFail("in the batch", 0.1)
    }
    registry.registerBatch(Opened.self, upTo: 8) { [chaos] batch in
      try chaos.mayFail("before the batch's transactions", 0.05)
      var sound: [BatchedJob<Opened>] = []
      for job in batch.jobs {
        do {
          try chaos.mayFail("one job of the batch", 0.1)
          sound.append(job)
        } catch {
          batch.fail(job, error)
        }
      }
      for part in [sound.prefix(sound.count / 2), sound.suffix(sound.count - sound.count / 2)] where !part.isEmpty {
        try await batch.transaction(ending: Array(part)) { live, transaction in
          try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
          if chaos.happens(0.02) { try await Task.sleep(for: .milliseconds(chaos.number(100..<600))) }
          try chaos.mayFail("in a part of the batch", 0.1)
        }
      }
      try chaos.mayFail("after the batch's transactions", 0.05)
    }
    return registry
  }

  /// One worker after another: each lives for a while and is then cut off or asked to stop.
  private func runWorkers(_ index: Int) async {
    while !Task.isCancelled {
      var configuration = WorkerConfiguration(queues: [.default: 4])
      configuration.lease = .milliseconds(300)
      configuration.heartbeat = .milliseconds(50)
      configuration.relayInterval = .milliseconds(200)
      configuration.relayAge = .milliseconds(200)
      configuration.shutdownLimit = .milliseconds(100)
      let worker = Worker(
        broker: ChaosBroker(broker, chaos: chaos), ledger: ChaosLedger(ledger, chaos: chaos), registry: registry,
        configuration: configuration, logger: .quiet)
      let life = Duration.milliseconds(chaos.happens(1) ? chaos.number(300..<2000) : 1_000_000)
      let isGraceful = chaos.happens(0.5)
      await RunningWorker.run(worker) { running in
        do { try await Task.sleep(for: life) } catch { return }
        if isGraceful { await running.stop() }
      }
    }
  }

  private func loseMemory() async throws {
    while true {
      try await Task.sleep(for: .milliseconds(chaos.number(300..<900)))
      if chaos.happens(0.5) { try await forgetEverything() }
    }
  }
}
