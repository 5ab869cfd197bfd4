import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import Locking
import TestSupport
import Testing

/// A worker claims nothing until it knows whether its queues are paused.
@Suite(.timeLimit(.minutes(5))) struct StartingWorkerTests {
  private let stage = Stage()

  /// A registry whose reply comes when the gate opens, or fails.
  private struct Slow: WorkerRegistry {
    let base: InMemoryWorkerRegistry
    let gate: Gate
    let asked = Gate()
    var fails = false

    func heartbeat(_ report: WorkerReport) async throws -> WorkerCommands {
      asked.open()
      if fails, !gate.hasOpened { throw Failure("away") }
      try await gate.wait()
      return base.heartbeat(report)
    }

    func leave(_ report: WorkerReport) async throws { base.leave(report) }
  }

  private func work(
    _ workers: Slow, broker: some Broker, _ body: @Sendable (Journal<Int>) async throws -> Void
  ) async throws {
    let begun = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in begun.note(job.number) }
    var configuration = Stage.configuration()
    configuration.reportInterval = .milliseconds(2)
    let worker = Worker(
      broker: broker, ledger: stage.ledger, registry: registry, configuration: configuration, workers: workers,
      logger: .quiet)
    try await RunningWorker.run(worker) { _ in try await body(begun) }
  }

  /// Several heartbeats pass: a worker about to claim would have done so.
  private func aWhile() async throws {
    for _ in 0..<200 { await Task.yield() }
    try await eventually("the worker has joined") { await stage.counts().workers == 1 }
    for _ in 0..<200 { await Task.yield() }
  }

  @Test func nothingIsClaimedBeforeTheDirectoryHasAnswered() async throws {
    let workers = Slow(base: InMemoryWorkerRegistry(), gate: Gate())
    workers.base.pause(.default)
    try await stage.client.enqueue((0..<5).map { Numbered(number: $0) })
    try await work(workers, broker: stage.broker) { begun in
      try await workers.asked.wait()
      try await aWhile()
      #expect(await stage.counts().claimed == 0)
      workers.gate.open()
      try await eventually("the pause is remembered") { await stage.broker.remembersPause(of: .default) }
      #expect(begun.entries.isEmpty)
      #expect(await stage.counts().ready == 5)
      workers.base.resume(.default)
      try await stage.settled()
      #expect(begun.entries.sorted() == Array(0..<5))
      try await eventually("so is its end") { await !stage.broker.remembersPause(of: .default) }
    }
  }

  @Test(arguments: [true, false]) func whatTheBrokerLastHeardHoldsWhileTheDirectoryIsAway(isPaused: Bool) async throws {
    let workers = Slow(base: InMemoryWorkerRegistry(), gate: Gate(), fails: true)
    if isPaused { workers.base.pause(.default) }
    await stage.broker.rememberPause(isPaused, of: .default)
    try await stage.client.enqueue((0..<5).map { Numbered(number: $0) })
    try await work(workers, broker: stage.broker) { begun in
      try await workers.asked.wait()
      if isPaused {
        try await aWhile()
        #expect(begun.entries.isEmpty)
        #expect(await stage.counts().ready == 5)
        workers.base.resume(.default)
        workers.gate.open()
      }
      try await stage.settled()
      #expect(begun.entries.sorted() == Array(0..<5))
    }
  }
}
