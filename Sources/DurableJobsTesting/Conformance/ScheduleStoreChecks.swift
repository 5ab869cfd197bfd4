import DurableJobs
import Foundation
import Locking
import Logging

/// The states of schedules and the ticks that fired.
enum ScheduleStoreChecks {
  static let all: [ScheduleStoreCheck] = [
    ScheduleStoreCheck("a state begins once and is kept to the millisecond") { try await aStateBeginsOnce($0) },
    ScheduleStoreCheck("a tick is new once") { try await aTickIsNewOnce($0) },
    ScheduleStoreCheck("a rollback leaves nothing") { try await aRollbackLeavesNothing($0) },
    ScheduleStoreCheck("a locked schedule is changed by one transaction at a time") {
      try await aLockedScheduleIsChangedByOneAtATime($0)
    },
    ScheduleStoreCheck("the oldest ticks are forgotten in batches") { try await theOldestTicksAreForgotten($0) },
    ScheduleStoreCheck("tick and job commit together, whatever the number of schedulers") {
      try await tickAndJobCommitTogether($0)
    },
  ]

  private static let beginning = ScheduleState(
    name: "s", timing: "every 10s", kind: "test.job", decidedUntil: Date(unixMilliseconds: 1_767_225_600_123),
    nextTick: Date(unixMilliseconds: 1_767_225_610_000))

  private static func tick(_ tick: Date) -> FiredTick { FiredTick(tick: tick, job: .next()) }

  private static func date(_ milliseconds: Int64) -> Date { Date(unixMilliseconds: milliseconds) }

  private static func aStateBeginsOnce(_ schedules: some ScheduleStoreUnderTest) async throws {
    try await expect(schedules.store.states().isEmpty)
    let first = try await schedules.transaction { try await schedules.store.lock(Self.beginning, in: $0) }
    try expect(first, equals: Self.beginning)
    var other = Self.beginning
    other.decidedUntil += 0.001
    let again = try await schedules.transaction { [other] in try await schedules.store.lock(other, in: $0) }
    try expect(again, equals: Self.beginning, "what is there is not replaced")

    let changed = ScheduleState(
      name: "s", timing: "0 0 * * * UTC", kind: "test.other", isPaused: true, decidedUntil: date(1_767_225_700_999),
      lastTick: date(1_767_225_700_001), nextTick: nil)
    try await schedules.transaction { transaction in
      _ = try await schedules.store.lock(Self.beginning, in: transaction)
      try await schedules.store.save(changed, in: transaction)
      try await expect(schedules.store.lock(Self.beginning, in: transaction), equals: changed)
    }
    var second = Self.beginning
    second.name = "a"
    try await schedules.transaction { [second] in _ = try await schedules.store.lock(second, in: $0) }
    try await expect(schedules.store.states(), equals: [second, changed], "by name")
  }

  private static func aTickIsNewOnce(_ schedules: some ScheduleStoreUnderTest) async throws {
    @Sendable func record(_ ticks: [FiredTick], of name: ScheduleName = "s") async throws -> Set<Date> {
      try await schedules.transaction { transaction in
        var state = Self.beginning
        state.name = name
        _ = try await schedules.store.lock(state, in: transaction)
        return try await schedules.store.record(ticks, of: name, in: transaction)
      }
    }
    let ticks = (1_767_225_610_001...1_767_225_610_003).map(date)
    let fired = ticks.map(Self.tick)
    try await expect(record([fired[1]]), equals: [ticks[1]])
    try await expect(record(fired.map { Self.tick($0.tick) }), equals: [ticks[0], ticks[2]])
    try await expect(record(fired).isEmpty)
    try await expect(record(fired, of: "other"), equals: Set(ticks))
    try await expect(schedules.store.ticks(of: "s", limit: 10).map(\.tick), equals: ticks.reversed())
    try await expect(schedules.store.ticks(of: "s", limit: 2).map(\.tick), equals: [ticks[2], ticks[1]])
    try await expect(schedules.store.ticks(of: "s", limit: 10)[1], equals: fired[1], "the first one stays")
    try await expect(schedules.store.ticks(of: "unknown", limit: 10).isEmpty)
  }

  private static func aRollbackLeavesNothing(_ schedules: some ScheduleStoreUnderTest) async throws {
    for isKnown in [false, true] {
      if isKnown { try await schedules.transaction { _ = try await schedules.store.lock(Self.beginning, in: $0) } }
      try await expect(throwing: Rollback.self) {
        try await schedules.transaction { transaction in
          var state = try await schedules.store.lock(Self.beginning, in: transaction)
          state.pause()
          try await schedules.store.save(state, in: transaction)
          _ = try await schedules.store.record([Self.tick(date(5000))], of: "s", in: transaction)
          throw Rollback()
        }
      }
      try await expect(schedules.store.states(), equals: (isKnown ? [Self.beginning] : []))
      try await expect(schedules.store.ticks(of: "s", limit: 10).isEmpty)
    }
  }

  private static func aLockedScheduleIsChangedByOneAtATime(_ schedules: some ScheduleStoreUnderTest) async throws {
    // Each adds one to the value it read: none is lost if each read waits for the previous write.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try await schedules.transaction { transaction in
            var state = try await schedules.store.lock(Self.beginning, in: transaction)
            await Task.yield()
            state.decidedUntil = date(state.decidedUntil.unixMilliseconds + 1)
            try await schedules.store.save(state, in: transaction)
          }
        }
      }
      try await group.waitForAll()
    }
    try await expect(
      schedules.store.states().map(\.decidedUntil), equals: [date(Self.beginning.decidedUntil.unixMilliseconds + 20)])
  }

  private static func theOldestTicksAreForgotten(_ schedules: some ScheduleStoreUnderTest) async throws {
    for name: ScheduleName in ["s", "t"] {
      try await schedules.transaction { transaction in
        var state = Self.beginning
        state.name = name
        _ = try await schedules.store.lock(state, in: transaction)
        _ = try await schedules.store.record((1...20).map { Self.tick(date($0 * 1000)) }, of: name, in: transaction)
      }
    }
    try await expect(schedules.store.prune("s", keep: 20, batch: 10), equals: 0)
    try await expect(schedules.store.prune("s", keep: 5, batch: 10), equals: 10)
    try await expect(
      schedules.store.ticks(of: "s", limit: 30).map(\.tick), equals: (11...20).reversed().map { date($0 * 1000) })
    try await expect(schedules.store.prune("s", keep: 5, batch: 10), equals: 5)
    try await expect(schedules.store.prune("s", keep: 5, batch: 10), equals: 0)
    try await expect(
      schedules.store.ticks(of: "s", limit: 30).map(\.tick), equals: (16...20).reversed().map { date($0 * 1000) })
    try await expect(schedules.store.ticks(of: "t", limit: 30).count, equals: 20)
    try await expect(schedules.store.prune("unknown", keep: 5, batch: 10), equals: 0)
  }

  private static func tickAndJobCommitTogether(_ schedules: some ScheduleStoreUnderTest) async throws {
    let clock = try ManualClock()
    let schedule = Schedule("s", try .every(.seconds(10)), missed: .all) { tick in
      TickJob(tick: tick.time.unixMilliseconds)
    }
    let client = JobClient(broker: InMemoryBroker(), ledger: schedules.ledger, logger: .quiet)
    let schedulers = try (0..<3).map { _ in
      try Scheduler([schedule], client: client, store: schedules.store, clock: clock, logger: .quiet)
    }
    let start = Int64(clock.now.timeIntervalSince1970) * 1000
    @Sendable func ticks() async throws -> [Int64] {
      try await schedules.store.ticks(of: "s", limit: 100).map(\.tick.unixMilliseconds).reversed()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for scheduler in schedulers { group.addTask { try await scheduler.run() } }
      try await eventually("one leads") { clock.sleeperCount == 1 }
      for _ in 0..<20 {
        clock.advance(by: .seconds(10))
        try await eventually("it has fired") { clock.sleeperCount == 1 }
      }
      group.cancelAll()
    }
    let expected = (1...20).map { start + $0 * 10_000 }
    try await expect(ticks(), equals: expected)
    let ids = try await schedules.ledger.allPendingIDs()
    let pending = try await schedules.ledger.records(ids, queue: .default)
    try expect(
      try pending.map { try TickJob(payload: $0.payload, version: 1).tick }, equals: expected, "a job a tick, in order")
    try await expect(Set(schedules.store.ticks(of: "s", limit: 100).map(\.job)), equals: Set(ids))
  }
}

private struct TickJob: Job {
  static let kind: JobKind = "test.tick"
  var tick: Int64
}
