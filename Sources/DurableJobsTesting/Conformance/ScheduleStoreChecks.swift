import DurableJobs
import Foundation
import JobsTestSupport
import Locking
import Logging
import Testing

@Suite(.timeLimit(.minutes(5))) struct ScheduleStoreTests {
  private static let beginning = ScheduleState(
    name: "s", timing: "every 10s", kind: "test.job", decidedUntil: 1_767_225_600_123, nextTick: 1_767_225_610_000)

  private static func tick(_ tick: Int64) -> FiredTick { FiredTick(tick: tick, job: .next()) }

  @Test(arguments: ScheduleStoreKind.allCases)
  func aStateBeginsOnceAndIsKeptToTheMillisecond(_ kind: ScheduleStoreKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ schedules: some TestedSchedules) async throws {
      #expect(try await schedules.store.states().isEmpty)
      let first = try await schedules.transaction { try await schedules.store.lock(Self.beginning, in: $0) }
      #expect(first == Self.beginning)
      var other = Self.beginning
      other.decidedUntil += 1
      let again = try await schedules.transaction { [other] in try await schedules.store.lock(other, in: $0) }
      #expect(again == Self.beginning, "what is there is not replaced")

      let changed = ScheduleState(
        name: "s", timing: "0 0 * * * UTC", kind: "test.other", isPaused: true, decidedUntil: 1_767_225_700_999,
        lastTick: 1_767_225_700_001, nextTick: nil)
      try await schedules.transaction { transaction in
        _ = try await schedules.store.lock(Self.beginning, in: transaction)
        try await schedules.store.save(changed, in: transaction)
        #expect(try await schedules.store.lock(Self.beginning, in: transaction) == changed)
      }
      var second = Self.beginning
      second.name = "a"
      try await schedules.transaction { [second] in _ = try await schedules.store.lock(second, in: $0) }
      #expect(try await schedules.store.states() == [second, changed], "by name")
    }
  }

  @Test(arguments: ScheduleStoreKind.allCases)
  func aTickIsNewOnce(_ kind: ScheduleStoreKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ schedules: some TestedSchedules) async throws {
      @Sendable func record(_ ticks: [FiredTick], of name: ScheduleName = "s") async throws -> Set<Int64> {
        try await schedules.transaction { transaction in
          var state = Self.beginning
          state.name = name
          _ = try await schedules.store.lock(state, in: transaction)
          return try await schedules.store.record(ticks, of: name, in: transaction)
        }
      }
      let ticks: [Int64] = [1_767_225_610_001, 1_767_225_610_002, 1_767_225_610_003]
      let fired = ticks.map(Self.tick)
      #expect(try await record([fired[1]]) == [ticks[1]])
      #expect(try await record(fired.map { Self.tick($0.tick) }) == [ticks[0], ticks[2]])
      #expect(try await record(fired).isEmpty)
      #expect(try await record(fired, of: "other") == Set(ticks))
      #expect(try await schedules.store.ticks(of: "s", limit: 10).map(\.tick) == ticks.reversed())
      #expect(try await schedules.store.ticks(of: "s", limit: 2).map(\.tick) == [ticks[2], ticks[1]])
      #expect(try await schedules.store.ticks(of: "s", limit: 10)[1] == fired[1], "the first one stays")
      #expect(try await schedules.store.ticks(of: "unknown", limit: 10).isEmpty)
    }
  }

  @Test(arguments: ScheduleStoreKind.allCases)
  func whatIsUndoneLeavesNothing(_ kind: ScheduleStoreKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ schedules: some TestedSchedules) async throws {
      for isKnown in [false, true] {
        if isKnown { try await schedules.transaction { _ = try await schedules.store.lock(Self.beginning, in: $0) } }
        await #expect(throws: Rollback.self) {
          try await schedules.transaction { transaction in
            var state = try await schedules.store.lock(Self.beginning, in: transaction)
            state.pause()
            try await schedules.store.save(state, in: transaction)
            _ = try await schedules.store.record([Self.tick(5000)], of: "s", in: transaction)
            throw Rollback()
          }
        }
        #expect(try await schedules.store.states() == (isKnown ? [Self.beginning] : []))
        #expect(try await schedules.store.ticks(of: "s", limit: 10).isEmpty)
      }
    }
  }

  @Test(arguments: ScheduleStoreKind.allCases)
  func aLockedScheduleIsChangedByOneAtATime(_ kind: ScheduleStoreKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ schedules: some TestedSchedules) async throws {
      // Each adds one to what it read: none is lost if nobody reads before the other has written.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask {
            try await schedules.transaction { transaction in
              var state = try await schedules.store.lock(Self.beginning, in: transaction)
              await Task.yield()
              state.decidedUntil += 1
              try await schedules.store.save(state, in: transaction)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await schedules.store.states().map(\.decidedUntil) == [Self.beginning.decidedUntil + 20])
    }
  }

  @Test(arguments: ScheduleStoreKind.allCases)
  func theOldestTicksAreForgottenInBatches(_ kind: ScheduleStoreKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ schedules: some TestedSchedules) async throws {
      for name: ScheduleName in ["s", "t"] {
        try await schedules.transaction { transaction in
          var state = Self.beginning
          state.name = name
          _ = try await schedules.store.lock(state, in: transaction)
          _ = try await schedules.store.record((1...20).map { Self.tick($0 * 1000) }, of: name, in: transaction)
        }
      }
      #expect(try await schedules.store.prune("s", keep: 20, batch: 10) == 0)
      #expect(try await schedules.store.prune("s", keep: 5, batch: 10) == 10)
      #expect(try await schedules.store.ticks(of: "s", limit: 30).map(\.tick) == (11...20).reversed().map { $0 * 1000 })
      #expect(try await schedules.store.prune("s", keep: 5, batch: 10) == 5)
      #expect(try await schedules.store.prune("s", keep: 5, batch: 10) == 0)
      #expect(try await schedules.store.ticks(of: "s", limit: 30).map(\.tick) == (16...20).reversed().map { $0 * 1000 })
      #expect(try await schedules.store.ticks(of: "t", limit: 30).count == 20)
      #expect(try await schedules.store.prune("unknown", keep: 5, batch: 10) == 0)
    }
  }

  @Test(arguments: ScheduleStoreKind.allCases)
  func tickAndJobAreCommittedTogetherWhateverTheNumberOfSchedulers(_ kind: ScheduleStoreKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ schedules: some TestedSchedules) async throws {
      let clock = try ManualClock()
      let schedule = Schedule("s", try .every(.seconds(10)), missed: .all) { tick in TickJob(tick: tick.milliseconds) }
      let client = JobClient(broker: InMemoryBroker(), ledger: schedules.ledger, logger: .quiet)
      let schedulers = try (0..<3).map { _ in
        try Scheduler([schedule], client: client, store: schedules.store, clock: clock, logger: .quiet)
      }
      let start = Int64(clock.now.timeIntervalSince1970) * 1000
      @Sendable func ticks() async throws -> [Int64] {
        try await schedules.store.ticks(of: "s", limit: 100).map(\.tick).reversed()
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
      #expect(try await ticks() == expected)
      let ids = try await schedules.ledger.allPendingIDs()
      let pending = try await schedules.ledger.records(ids, queue: .default)
      #expect(
        try pending.map { try TickJob(payload: $0.payload, version: 1).tick } == expected, "a job a tick, in order")
      #expect(Set(try await schedules.store.ticks(of: "s", limit: 100).map(\.job)) == Set(ids))
    }
  }
}

private struct TickJob: Job {
  static let kind: JobKind = "test.tick"
  var tick: Int64
}
