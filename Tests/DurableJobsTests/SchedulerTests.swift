import DurableJobs
import DurableJobsTesting
import Foundation
import JobsTestSupport
import ServiceLifecycle
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct SchedulerTests {
  /// Schedulers on an in-memory ledger, with a shared clock.
  private struct Rig: Sendable {
    let stage = Stage()
    let store = InMemoryScheduleStore()
    let clock: ManualClock
    /// Enough that each of them sleeps separately.
    let count: Int

    init(_ count: Int = 1) throws {
      clock = try ManualClock()
      self.count = count
    }

    func scheduler(_ schedules: [Schedule]) throws -> Scheduler<InMemoryBroker, InMemoryLedger, InMemoryScheduleStore> {
      var configuration = SchedulerConfiguration()
      configuration.keptTicks = 20
      configuration.pruneEvery = 5
      return try Scheduler(
        schedules, client: stage.client, store: store, configuration: configuration, clock: clock, logger: .quiet)
    }

    /// Runs `body` beside a scheduler that is already waiting for its clock.
    func play<Result: Sendable>(
      _ schedules: [Schedule], _ body: @Sendable (RunningWorker) async throws -> Result
    ) async throws -> Result {
      try await RunningWorker.run(try scheduler(schedules)) { running in
        try await waited(for: schedules)
        return try await body(running)
      }
    }

    /// Waits until the schedules are known and the scheduler sleeps.
    func waited(for schedules: [Schedule]) async throws {
      try await eventually("the scheduler waits") {
        store.states().count == schedules.count && clock.sleeperCount == schedules.count
      }
    }

    /// Moves the clock and waits until the ticks up to then have been decided.
    func advance(_ duration: Duration) async throws {
      clock.advance(by: duration)
      try await eventually("the scheduler waits again") { clock.sleeperCount == count }
    }

    /// The seconds of the minute of the enqueued effects, in order.
    func effects() throws -> [Int] { try stage.effects() }
  }

  private func everyTenSeconds(_ missed: MissedTicks = .latest, options: JobOptions = JobOptions()) throws -> Schedule {
    Schedule("ten", try .every(.seconds(10)), missed: missed, options: options) { tick in
      Effect(number: Int(tick.time.unixMilliseconds / 1000 % 3600))
    }
  }

  @Test func eachTickAsksForItsJobOnce() async throws {
    let rig = try Rig()
    try await rig.play([try everyTenSeconds()]) { _ in
      #expect(try rig.effects().isEmpty, "a first start does not fire the past")
      for _ in 0..<6 { try await rig.advance(.seconds(5)) }
      #expect(try rig.effects() == [10, 20, 30])
      let state = try #require(rig.store.states().first)
      #expect(state.kind == Effect.kind && state.timing == "every 10s" && !state.isPaused)
      let now = try Date("2026-01-01T00:00:30Z", strategy: .iso8601)
      #expect(state.lastTick?.unixMilliseconds == Int64(now.timeIntervalSince1970) * 1000)
      #expect(state.nextTick?.unixMilliseconds == Int64(now.timeIntervalSince1970 + 10) * 1000)
      let ledger = rig.stage.ledger
      let ids = ledger.pendingIDs(queue: Effect.queue, after: nil, before: JobID(high: .max, low: 0), limit: 10)
      let traces = Set(ledger.records(ids, queue: Effect.queue).compactMap(\.trace))
      #expect(traces.count == 3, "each firing begins a trace of its own")
      // The enqueued jobs are pushed.
      #expect(await rig.stage.counts(Effect.queue).ready == 3)
    }
  }

  @Test func schedulesDoNotWaitForOneAnother() async throws {
    let rig = try Rig(3)
    let schedules = [
      try everyTenSeconds(),
      Schedule("never", try .cron("0 0 30 2 *", .gmt)) { _ in Effect(number: -1) },
      Schedule("cron", try .cron("* * * * *", .gmt)) { tick in
        Effect(number: 10_000 + Int(tick.time.unixMilliseconds / 60_000 % 60))
      },
    ]
    try await rig.play(schedules) { _ in
      for _ in 0..<12 { try await rig.advance(.seconds(10)) }
      #expect(try rig.effects() == Array(stride(from: 10, through: 120, by: 10)) + [10_001, 10_002])
    }
  }

  @Test(arguments: [MissedTicks.skip, .latest, .all])
  func whatWasMissedWhileNobodyRanIsTheSchedulesChoice(missed: MissedTicks) async throws {
    let rig = try Rig()
    let schedules = [
      Schedule("ten", try .every(.seconds(10)), missed: missed) {
        Effect(number: Int($0.time.unixMilliseconds / 1000 % 3600))
      },
      Schedule("slow", try .every(.seconds(3600)), missed: missed) { _ in Effect(number: 5000) },
    ]
    try await rig.play(schedules) { _ in }
    // 11 seconds past the last tick, which is one more than the grace.
    rig.clock.advance(by: .seconds(99))
    rig.clock.advance(by: .seconds(2))
    // 1:41: the tick of 1:40 is on time, and is the one that `latest` would have made up for.
    try await rig.play(schedules) { _ in
      let effects = try rig.effects()
      #expect(effects == (missed == .all ? Array(stride(from: 10, through: 100, by: 10)) : [100]))
    }
  }

  @Test func aLongOutageIsMadeUpForByTheLatestAlone() async throws {
    let rig = try Rig()
    let daily = Schedule("daily", try .cron("0 3 * * *", .gmt)) { tick in
      Effect(number: Int(tick.time.unixMilliseconds / 86_400_000))
    }
    let start = Int(rig.clock.now.timeIntervalSince1970 / 86400)
    try await rig.play([daily]) { _ in }
    rig.clock.advance(by: .seconds(40 * 86400 + 12 * 3600))
    try await rig.play([daily]) { _ in
      try await eventually("it fires") { try !rig.effects().isEmpty }
      #expect(try rig.effects() == [start + 40])
      try await rig.advance(.seconds(86400))
      #expect(try rig.effects() == [start + 40, start + 41])
    }
  }

  @Test func twoLeadersAtOnceFireATickOnce() async throws {
    // Each on a ledger whose lock does not exclude the other, on one store.
    struct Leaderless: Ledger {
      let base: InMemoryLedger
      typealias Transaction = InMemoryLedger.Transaction
      func withTransaction<Result: Sendable>(
        _ body: @Sendable (Transaction) async throws -> Result
      ) async throws -> Result { try await base.withTransaction(body) }
      func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID] {
        try await base.add(jobs, in: transaction)
      }
      func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> Completion {
        base.complete(ids, queue: queue, in: transaction)
      }
      func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
        try await base.complete(ids, queue: queue)
      }
      func cancel(_ ids: [JobID], queue: QueueName) -> [JobID] { base.cancel(ids, queue: queue) }
      func recordFailures(_ failures: [FailedJob], queue: QueueName) -> [JobID] {
        base.recordFailures(failures, queue: queue)
      }
      func discard(_ discarded: [DeadJob]) -> [JobID] { base.discard(discarded) }
      func postpone(_ dates: [JobID: Date], queue: QueueName) -> [JobID] { base.postpone(dates, queue: queue) }
      func deadLetter(_ dead: [DeadJob]) -> [JobID] { base.deadLetter(dead) }
      func park(_ jobs: [JobRecord]) -> [JobID] { base.park(jobs) }
      func ping(within limit: Duration) {}
      func unpark(queue: QueueName, kinds: [JobKind: Int]) -> Int { base.unpark(queue: queue, kinds: kinds) }
      func pending(_ ids: [JobID], queue: QueueName) -> [JobID] { base.pending(ids, queue: queue) }
      func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) -> [JobID] {
        base.pendingIDs(queue: queue, after: after, before: before, limit: limit)
      }
      func newestPendingIDs(
        queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
      ) -> [JobID] {
        base.newestPendingIDs(queue: queue, after: after, before: before, age: age, limit: limit)
      }
      func refuse(_ refusals: [JobID: String], queue: QueueName) { base.refuse(refusals, queue: queue) }
      func records(_ ids: [JobID], queue: QueueName) -> [JobRecord] { base.records(ids, queue: queue) }
      func payloads(_ ids: [JobID], queue: QueueName) -> [JobID: [UInt8]] { base.payloads(ids, queue: queue) }
      func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws { try await body() }
    }
    let rig = try Rig()
    let schedules = [try everyTenSeconds(.all)]
    let client = JobClient(
      broker: rig.stage.broker, ledger: Leaderless(base: rig.stage.ledger), logger: .quiet)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        let scheduler = try Scheduler(schedules, client: client, store: rig.store, clock: rig.clock, logger: .quiet)
        let running = ServiceGroup(configuration: ServiceGroupConfiguration(services: [scheduler], logger: .quiet))
        group.addTask { try await running.run() }
      }
      for _ in 0..<50 {
        try await eventually("all four wait") { rig.clock.sleeperCount == 4 }
        rig.clock.advance(by: .seconds(10))
      }
      try await eventually("all four wait") { rig.clock.sleeperCount == 4 }
      group.cancelAll()
    }
    #expect(try rig.effects() == Array(stride(from: 10, through: 500, by: 10)))
  }

  @Test func pausedItFiresNothingAndResumedItGoesOnFromThere() async throws {
    let rig = try Rig()
    let schedule = try everyTenSeconds(.all)
    @Sendable func change(_ body: @Sendable (inout ScheduleState) -> Void) async throws {
      try await rig.stage.ledger.withTransaction { transaction in
        var state = try await rig.store.lock(
          ScheduleState(beginning: schedule, at: Date(unixMilliseconds: 0)),
          in: transaction)
        body(&state)
        try rig.store.save(state, in: transaction)
      }
    }
    try await rig.play([schedule]) { _ in
      try await rig.advance(.seconds(10))
      try await change { $0.pause() }
      for _ in 0..<5 { try await rig.advance(.seconds(10)) }
      #expect(try rig.effects() == [10])
      #expect(rig.store.states().first?.nextTick == nil)
      rig.clock.advance(by: .seconds(5))
      let now = rig.clock.now
      try await change { $0.resume(schedule, at: now) }
      try await rig.advance(.seconds(5))
      try await rig.advance(.seconds(10))
      #expect(try rig.effects() == [10, 70, 80])
    }
  }

  @Test func withAUniqueKeyATickAsksForNothingWhileTheLastJobIsPending() async throws {
    let rig = try Rig()
    try await rig.play([try everyTenSeconds(options: JobOptions(uniqueKey: "ten"))]) { _ in
      for _ in 0..<3 { try await rig.advance(.seconds(10)) }
      #expect(try rig.effects() == [10])
      #expect(rig.store.ticks(of: "ten", limit: 10).count == 3)
      let ids = rig.stage.ledger.pendingIDs(
        queue: Effect.queue, after: nil, before: JobID(high: .max, low: 0), limit: 10)
      try await rig.stage.ledger.complete(ids, queue: Effect.queue)
      try await rig.advance(.seconds(10))
      #expect(try rig.effects() == [40])
    }
  }

  @Test func firedTicksAreKeptWithinBounds() async throws {
    let rig = try Rig()
    try await rig.play([try everyTenSeconds()]) { _ in
      for _ in 0..<60 { try await rig.advance(.seconds(10)) }
      #expect((20..<25).contains(rig.store.ticks(of: "ten", limit: 100).count))
      #expect(try rig.effects().count == 60)
    }
  }

  @Test func aScheduleThatCannotFireHoldsUpNoOther() async throws {
    struct Unwritable: Job {
      static let kind: JobKind = "test.unwritable"
      func encodedPayload() throws -> [UInt8] { throw Failure("it cannot be written") }
    }
    let rig = try Rig(2)
    let schedules = [Schedule("bad", try .every(.seconds(10))) { _ in Unwritable() }, try everyTenSeconds()]
    try await rig.play(schedules) { _ in
      for _ in 0..<4 { try await rig.advance(.seconds(5)) }
      #expect(try rig.effects() == [10, 20])
      #expect(rig.store.ticks(of: "bad", limit: 10).isEmpty, "nothing is fired whose job is not pending")
    }
  }

  @Test func aScheduleThatIsHeldUpHoldsUpNoOther() async throws {
    let rig = try Rig(2)
    let held = Schedule("held", try .every(.seconds(10))) { _ in Effect(number: -1) }
    try await rig.play([held, try everyTenSeconds()]) { _ in
      let beginning = ScheduleState(beginning: held, at: Date(unixMilliseconds: 0))
      try await rig.stage.ledger.withTransaction { transaction in
        _ = try await rig.store.lock(beginning, in: transaction)
        for tick in [10, 20, 30] {
          rig.clock.advance(by: .seconds(10))
          try await eventually("the other one fires") { try rig.effects().last == tick }
        }
      }
      try await eventually("it fires when it is free") {
        rig.clock.advance(by: .milliseconds(100))
        return try rig.effects().first == -1
      }
    }
  }

  @Test func ticksThatFiredByAClockAheadFireAgainInTime() async throws {
    let rig = try Rig()
    let schedules = [try everyTenSeconds(.all)]
    let start = rig.clock.now
    rig.clock.move(to: start + 3600)
    try await rig.play(schedules) { _ in try await rig.advance(.seconds(10)) }
    #expect(try rig.effects() == [10])
    rig.clock.move(to: start)
    try await rig.play(schedules) { _ in
      for _ in 0..<2 { try await rig.advance(.seconds(10)) }
      #expect(try rig.effects().filter { $0 > 0 } == [10, 10, 20], "the hour is not waited for")
      #expect(
        rig.store.ticks(of: "ten", limit: 1).map(\.tick.unixMilliseconds) == [
          Int64(start.timeIntervalSince1970 + 20) * 1000
        ])
    }
  }

  @Test func itStopsWhenAskedTo() async throws {
    let rig = try Rig()
    let schedules = [try everyTenSeconds()]
    try await rig.play(schedules) { await $0.stop() }
    // Another one leads, and knows the fired ticks.
    try await rig.play(schedules) { _ in
      try await rig.advance(.seconds(10))
      #expect(try rig.effects() == [10])
    }
  }
}
