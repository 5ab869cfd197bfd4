import DurableJobs
import DurableJobsTesting
import Foundation
import JobsTestSupport
import Locking
import TestSupport
import Testing

/// Operators' commands to a worker, and its reports.
@Suite(.timeLimit(.minutes(5))) struct OrdersTests {
  private let stage = Stage()
  private let workers = InMemoryWorkerRegistry()

  private func work(
    _ registry: Stage.Registry, concurrency: Int = 1, claimsAhead: Bool = false, clock: any WallClock = .system,
    _ body: @Sendable (RunningWorker, String) async throws -> Void
  ) async throws {
    var configuration = Stage.configuration(concurrency: concurrency, claimsAhead: claimsAhead)
    configuration.reportInterval = .milliseconds(5)
    configuration.reportsPerCount = 2
    configuration.host = "here"
    configuration.clock = clock
    configuration.version = "1.2.3"
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: registry, configuration: configuration,
      workers: workers, logger: .quiet)
    let name = configuration.name
    try await RunningWorker.run(worker) { try await body($0, name) }
  }

  /// Waits until the worker has received the current commands.
  private func heard(_ name: String) async throws {
    let before = workers.beats(of: name)
    try await eventually("the worker has heard") { workers.beats(of: name) > before + 2 }
  }

  /// A kind whose jobs run until their gate opens.
  private func gated(_ begun: Journal<Int>, _ gate: Gate) -> Stage.Registry {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      begun.note(job.number)
      while !gate.hasOpened { try await Task.sleep(for: .milliseconds(1)) }
      try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
    }
    return registry
  }

  @Test func aWorkerSaysWhatItIsAndWhatItRunsUntilItLeaves() async throws {
    let (begun, gate) = (Journal<Int>(), Gate())
    try await work(gated(begun, gate)) { worker, name in
      let id = try #require(try await stage.client.enqueue(Numbered(number: 1)))
      let report = try await eventual("it runs the job") {
        workers.reports[name].flatMap { $0.running.isEmpty ? nil : $0 }
      }
      #expect(report.running.map(\.id) == [id])
      #expect(report.running.map(\.kind) == [Numbered.kind] && report.running.map(\.attempt) == [1])
      #expect(report.running.allSatisfy { $0.queue == .default && $0.since >= report.startedAt - 1000 })
      #expect(report.queues == [WorkerReport.Queue(queue: .default, concurrency: 1)])
      #expect(report.host == "here" && report.version == "1.2.3" && report.state == .running && report.pid > 0)
      await worker.stop()
      try await eventually("it says that it stops") { workers.reports[name]?.state == .stopping }
      gate.open()
    }
    #expect(workers.reports.isEmpty)
    #expect(try stage.effects() == [1])
  }

  @Test func aCancelledWorkerLeavesOnceItsLastJobHasEndedAndIsCounted() async throws {
    let (begun, gate) = (Journal<Int>(), Gate())
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in
      begun.note(job.number)
      // A handler that does not look whether it is cancelled: this task is not, and is awaited here.
      try await Task { try await gate.wait() }.value
    }
    try await work(registry) { worker, name in
      try await stage.client.enqueue(Numbered(number: 1))
      try await eventually("it runs the job") { begun.entries == [1] }
      worker.cancel()
      try await eventually("it says that it stops") { workers.reports[name]?.state == .stopping }
      gate.open()
    }
    #expect(workers.counts[Numbered.kind]?.completed == 1)
    #expect(workers.reports.isEmpty)
  }

  @Test func aPausedQueueIsLeftAloneAndItsUnbegunJobsAreHandedBack() async throws {
    let (begun, gate) = (Journal<Int>(), Gate())
    try await work(gated(begun, gate), claimsAhead: true) { _, name in
      try await stage.client.enqueue((0..<5).map { Numbered(number: $0) })
      try await eventually("one runs, and the others wait in the worker") {
        await stage.counts().claimed == 5 && begun.entries.count == 1
      }
      workers.pause(.default)
      try await eventually("the others are handed back") {
        let depth = await stage.counts()
        return depth.claimed == 1 && depth.ready == 4
      }
      try await stage.client.enqueue(Numbered(number: 5))
      gate.open()
      try await eventually("what ran is done") { try stage.effects().count == 1 }
      try await heard(name)
      #expect(begun.entries.count == 1)
      #expect(
        await stage.counts() == QueueCounts(ready: 5, workers: 1), "it still lives")
      workers.resume(.default)
      try await stage.settled()
    }
    #expect(try stage.effects() == Array(0..<6))
    #expect(begun.entries.count == 6, "no attempt was lost")
  }

  /// They are its own for as long as it lives: no other worker would run them.
  @Test func whatAPauseCannotHandBackIsHandedBackLater() async throws {
    let failing = FailingBroker(stage.broker)
    let (begun, gate) = (Journal<Int>(), Gate())
    var configuration = Stage.configuration(concurrency: 1, claimsAhead: true)
    configuration.reportInterval = .milliseconds(2)
    let worker = Worker(
      broker: failing, ledger: stage.ledger, registry: gated(begun, gate), configuration: configuration,
      workers: workers, logger: .quiet)
    try await RunningWorker.run(worker) { _ in
      try await stage.client.enqueue((0..<5).map { Numbered(number: $0) })
      try await eventually("one runs") { begun.entries.count == 1 }
      failing.releases.start()
      workers.pause(.default)
      try await eventually("the others cannot be handed back") { failing.releases.count > 0 }
      failing.releases.stop()
      try await eventually("the others are handed back") { await stage.counts().ready == 4 }
      gate.open()
      workers.resume(.default)
      try await stage.settled()
    }
    #expect(try stage.effects() == Array(0..<5))
  }

  @Test func aPauseHoldsBackWhatIsClaimedWhileItComes() async throws {
    // Paused and resumed repeatedly while jobs arrive: each is done once, whichever claim the pause interrupts.
    let begun = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      begun.note(job.number)
      try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
    }
    try await work(registry, concurrency: 3) { _, name in
      for round in 0..<20 {
        try await stage.client.enqueue((0..<20).map { Numbered(number: round * 20 + $0) })
        if round.isMultiple(of: 2) { workers.pause(.default) } else { workers.resume(.default) }
        try await heard(name)
      }
      workers.resume(.default)
      try await stage.settled()
    }
    #expect(try stage.effects() == Array(0..<400))
    #expect(begun.entries.count == 400)
  }

  @Test func aQuietWorkerClaimsNoMoreAndStays() async throws {
    let (begun, gate) = (Journal<Int>(), Gate())
    gate.open()
    try await work(gated(begun, gate)) { _, name in
      try await eventually("it is there") { workers.reports[name] != nil }
      workers.order(name) { $0.isQuiet = true }
      try await eventually("it is quiet") { workers.reports[name]?.state == .quiet }
      try await stage.client.enqueue(Numbered(number: 1))
      try await heard(name)
      #expect(begun.entries.isEmpty)
      #expect(await stage.counts().ready == 1)
    }
  }

  @Test func aStoppedWorkerFinishesWhatRunsAndEndsByItself() async throws {
    let (begun, gate) = (Journal<Int>(), Gate())
    let ended = Gate()
    try await stage.client.enqueue((0..<3).map { Numbered(number: $0) })
    var configuration = Stage.configuration(concurrency: 1, claimsAhead: true)
    configuration.reportInterval = .milliseconds(5)
    let name = configuration.name
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: gated(begun, gate), configuration: configuration,
      workers: workers, logger: .quiet)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await worker.run()
        ended.open()
      }
      try await eventually("one runs, and the others wait in the worker") {
        await stage.counts().claimed == 3 && begun.entries.count == 1
      }
      workers.order(name) { $0.isStopped = true }
      try await eventually("the rest is handed back") { await stage.counts().ready == 2 }
      #expect(!ended.hasOpened)
      gate.open()
      try await group.waitForAll()
    }
    #expect(try stage.effects() == [0])
    #expect(workers.reports.isEmpty)
    #expect(await stage.counts() == QueueCounts(ready: 2))
  }

  @Test(arguments: [false, true])
  func aCancelledJobEndsWithoutEffectsAndItsSlotGoesOn(isInTransaction: Bool) async throws {
    let begun = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      begun.note(job.number)
      if job.number == 1, !isInTransaction { try await Task.sleep(for: .seconds(3600)) }
      try await context.transaction { transaction in
        try await transaction.enqueue(Effect(number: job.number))
        if job.number == 1 { try await Task.sleep(for: .seconds(3600)) }
      }
    }
    let id = try #require(try await stage.client.enqueue(Numbered(number: 1)))
    try await work(registry) { _, _ in
      try await eventually("it runs") { begun.entries == [1] }
      workers.cancel(id)
      try await eventually("it has ended") { stage.ledger.ended.map(\.state) == [.cancelled] }
      try await stage.client.enqueue(Numbered(number: 2))
      try await stage.settled()
    }
    #expect(begun.entries == [1, 2])
    #expect(try stage.effects() == [2])
    #expect(stage.ledger.dead.isEmpty && stage.ledger.failures(of: id).isEmpty)
  }

  @Test func aCancelledJobThatHasNotBegunNeverDoes() async throws {
    let (begun, gate) = (Journal<Int>(), Gate())
    let ids = try await stage.client.enqueue((0..<2).map { Numbered(number: $0) })
    try await work(gated(begun, gate), claimsAhead: true) { _, _ in
      try await eventually("one runs, and one waits in the worker") {
        await stage.counts().claimed == 2 && begun.entries == [0]
      }
      workers.cancel(ids[1])
      try await eventually("it has ended") { stage.ledger.ended.map(\.record.id) == [ids[1]] }
      gate.open()
      try await stage.settled()
    }
    #expect(begun.entries == [0])
  }

  @Test func theNeighboursOfACancelledJobInABatchRunAgain() async throws {
    let runs = Journal<[Int]>()
    var registry = Stage.Registry()
    registry.registerBatch(Numbered.self, upTo: 10) { batch, transaction in
      let numbers = batch.map(\.job.number)
      runs.note(numbers)
      try await transaction.enqueue(numbers.map { Effect(number: $0) })
      if numbers.contains(3) { try await Task.sleep(for: .seconds(3600)) }
    }
    let ids = try await stage.client.enqueue((0..<5).map { Numbered(number: $0) })
    try await work(registry, concurrency: 5) { _, _ in
      try await eventually("they run") { runs.entries.contains { $0.contains(3) } }
      workers.cancel(ids[3])
      try await stage.settled()
    }
    #expect(try stage.effects() == [0, 1, 2, 4])
    #expect(stage.ledger.ended.map(\.record.id) == [ids[3]])
    #expect(ids.allSatisfy { stage.ledger.failures(of: $0).isEmpty }, "nobody has failed")
  }

  /// A time of day that stands still, with timers that run.
  private struct Standstill: WallClock {
    let now: Date
    func sleep(until moment: Date) async throws { try await Task.sleep(for: .seconds(1)) }
  }

  @Test func whatWasDoneIsCountedOnceWithItsTimes() async throws {
    let clock = Standstill(now: try Date("2026-01-01T10:20:30Z", strategy: .iso8601))
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in
      if job.number >= 90 { throw Failure("no") }
    }
    try await work(registry, concurrency: 2, clock: clock) { _, _ in
      try await stage.client.enqueue((0..<50).map { Numbered(number: $0) } + [Numbered(number: 90)])
      try await stage.client.push((50..<60).map { Numbered(number: $0) })
      try await stage.settled()
    }
    let counts = try #require(workers.counts[Numbered.kind])
    #expect(counts.completed == 60)
    #expect(counts.failed == 2 && counts.dead == 1)
    #expect(counts.run > .zero && counts.wait >= .zero)
    #expect(counts.runTimes.total == 63 && counts.waitTimes.total == 63)
  }

  /// Stores every report; the replies to two of three are lost.
  private struct Unheard: WorkerRegistry {
    let base: InMemoryWorkerRegistry
    let told = Journal<WorkerReport>()

    func heartbeat(_ report: WorkerReport) async throws -> WorkerCommands {
      let orders = base.heartbeat(report)
      told.note(report)
      if told.entries.count % 3 > 0 { throw Failure("no answer") }
      return orders
    }

    func leave(_ report: WorkerReport) async throws { base.leave(report) }
  }

  @Test func whatWasDoneIsCountedOnceHoweverOftenItIsTold() async throws {
    // A late push runs a job again, and that counts too.
    let runs = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in runs.note(job.number) }
    var configuration = Stage.configuration()
    configuration.reportInterval = .milliseconds(1)
    configuration.reportsPerCount = 1
    let unheard = Unheard(base: workers)
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: registry, configuration: configuration,
      workers: unheard, logger: .quiet)
    try await RunningWorker.run(worker) { _ in
      for round in 0..<20 {
        try await stage.client.enqueue((0..<10).map { Numbered(number: round * 10 + $0) })
        let before = unheard.told.entries.count
        try await eventually("it has reported") { unheard.told.entries.count > before }
      }
      try await stage.settled()
    }
    #expect(runs.entries.count >= 200)
    #expect(workers.counts[Numbered.kind]?.completed == runs.entries.count)
    let batches = Dictionary(grouping: unheard.told.entries.filter { !$0.minutes.isEmpty }, by: \.batch)
    #expect(batches.values.contains { $0.count > 1 }, "some were told again")
    #expect(batches.values.allSatisfy { Set($0.map(\.minutes)).count == 1 }, "and as they were")
  }

  /// Unreachable for as long as a test wants.
  private struct Fading: WorkerRegistry {
    let base: InMemoryWorkerRegistry
    let isAway = Locked(false)
    let inVain = Journal<String>()

    func heartbeat(_ report: WorkerReport) async throws -> WorkerCommands {
      if isAway.withLock({ $0 }) {
        inVain.note(report.name)
        throw Failure("away")
      }
      return base.heartbeat(report)
    }

    func leave(_ report: WorkerReport) async throws { base.leave(report) }
  }

  @Test func aPauseHoldsWhileTheDirectoryIsAway() async throws {
    let begun = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in begun.note(job.number) }
    var configuration = Stage.configuration()
    configuration.reportInterval = .milliseconds(2)
    let fading = Fading(base: workers)
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: registry, configuration: configuration, workers: fading,
      logger: .quiet)
    workers.pause(.default)
    try await RunningWorker.run(worker) { [name = configuration.name] _ in
      try await heard(name)
      fading.isAway.withLock { $0 = true }
      // The worker cannot hear that the pause is over.
      workers.resume(.default)
      try await stage.client.enqueue((0..<3).map { Numbered(number: $0) })
      let before = fading.inVain.entries.count
      try await eventually("it has asked in vain") { fading.inVain.entries.count > before + 5 }
      #expect(await stage.counts() == QueueCounts(ready: 3, workers: 1))
      #expect(begun.entries.isEmpty)
      fading.isAway.withLock { $0 = false }
      try await stage.settled()
    }
    #expect(begun.entries.sorted() == [0, 1, 2])
  }

  @Test func aWorkerReportsWhileTheBrokerDoesNotAnswer() async throws {
    var configuration = Stage.configuration()
    configuration.reportInterval = .milliseconds(2)
    let broker = FailingBroker(stage.broker)
    let worker = Worker(
      broker: broker, ledger: stage.ledger, registry: Stage.Registry(), configuration: configuration,
      workers: workers, logger: .quiet)
    broker.pauseSilence.start()
    workers.pause(.default)
    try await RunningWorker.run(worker) { [name = configuration.name] _ in
      defer { broker.pauseSilence.stop() }
      try await eventually("the worker is about to store a pause") { broker.pauseSilence.waits > 0 }
      try await heard(name)
      broker.pauseSilence.stop()
      try await eventually("the pause is stored") { await stage.broker.remembersPause(of: .default) }
    }
  }

  @Test func aDirectoryThatIsAwayChangesNothing() async throws {
    struct Away: WorkerRegistry {
      func heartbeat(_ report: WorkerReport) async throws -> WorkerCommands { throw Failure("away") }
      func leave(_ report: WorkerReport) async throws { throw Failure("away") }
    }
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      _ = try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
    }
    var configuration = Stage.configuration()
    configuration.reportInterval = .milliseconds(1)
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: registry, configuration: configuration, workers: Away(),
      logger: .quiet)
    try await RunningWorker.run(worker) { _ in
      try await stage.client.enqueue((0..<20).map { Numbered(number: $0) })
      try await stage.settled()
    }
    #expect(try stage.effects() == Array(0..<20))
  }
}
