import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import JobsTestSupport
import LibPQClient
import Locking
import ProgramTestSupport
import SocialAdmin
import TestSupport
import Testing

@testable import DurableJobsAdmin

@Suite("Schedules as an operator sees them", .timeLimit(.minutes(5)))
struct ScheduleAdminTests {
  private struct Sweep: Job {
    static let kind: JobKind = "test.sweep"
    var tick: Int64
  }

  private func schedules() throws -> [Schedule] {
    [
      Schedule("hourly", try .every(.seconds(3600)), options: JobOptions(uniqueKey: "hourly")) {
        Sweep(tick: $0.time.unixMilliseconds)
      },
      Schedule("never", try .cron("0 0 30 2 *", .gmt)) { Sweep(tick: $0.time.unixMilliseconds) },
    ]
  }

  private func admin(_ stack: TestStack, _ clock: ManualClock) throws -> ScheduleAdmin {
    ScheduleAdmin(try schedules(), database: stack.database, now: { clock.now })
  }

  @Test("Each state is told from the others")
  func states() async throws {
    try await TestStack.with { stack in
      let clock = try ManualClock()
      let admin = try admin(stack, clock)
      let store = PostgresScheduleStore(pool: stack.pool)
      let now = Date(unixMilliseconds: Int64(clock.now.timeIntervalSince1970) * 1000)
      let gone = ScheduleState(name: "gone", timing: "every 1s", kind: "test.gone", decidedUntil: now)
      try await stack.ledger.withTransaction { _ = try await store.lock(gone, in: $0) }
      #expect(try await admin.list().map(\.state) == [.unknown, .new, .new])
      #expect(try await admin.list().map(\.name) == ["gone", "hourly", "never"])

      let client = JobClient(broker: InMemoryBroker(), ledger: stack.ledger, logger: .quiet)
      let scheduler = try Scheduler(try schedules(), client: client, store: store, clock: clock, logger: .quiet)
      try await RunningWorker.run(scheduler) { _ in
        try await eventually("it waits") { clock.sleeperCount == 2 }
      }
      #expect(try await admin.list().map(\.state) == [.unknown, .active, .active])
      #expect(try await admin.list()[1].nextTick == clock.now + 3600)
      #expect(try await admin.list()[2].nextTick == nil)
      clock.advance(by: .seconds(3660))
      #expect(try await admin.list()[1].state == .active)
      clock.advance(by: .seconds(1))
      #expect(try await admin.list()[1].state == .overdue)

      // A schedule of another version can be paused too.
      for name in ["gone", "hourly"] { #expect(try await admin.pause(name, by: .terminal).state == .paused) }
      #expect(try await admin.list().map(\.state) == [.paused, .paused, .active])
      #expect(try await admin.resume("gone", by: .terminal).state == .unknown)
      #expect(try await admin.resume("hourly", by: .terminal).nextTick == clock.now - 61 + 3600)
    }
  }

  @Test("Pausing twice and resuming twice change nothing, and a pause is not made up for")
  func pause() async throws {
    try await TestStack.with { stack in
      let clock = try ManualClock()
      let admin = try admin(stack, clock)
      let store = PostgresScheduleStore(pool: stack.pool)
      _ = try await admin.resume("hourly", by: .terminal)
      let started = try await store.states()
      clock.advance(by: .seconds(10))
      _ = try await admin.resume("hourly", by: .terminal)
      #expect(try await store.states() == started, "it was not paused")
      _ = try await admin.pause("hourly", by: .terminal)
      clock.advance(by: .seconds(3 * 3600))
      _ = try await admin.pause("hourly", by: .terminal)
      let resumed = try await admin.resume("hourly", by: .terminal)
      #expect(resumed.nextTick == clock.now - 10 + 3600)
      #expect(
        try await store.states().map(\.decidedUntil) == [
          Date(unixMilliseconds: Int64(clock.now.timeIntervalSince1970) * 1000)
        ])
    }
  }

  @Test("One that is run by hand asks for its job in one transaction with its tick")
  func run() async throws {
    try await TestStack.with { stack in
      let clock = try ManualClock()
      let admin = try admin(stack, clock)
      let jobs = JobAdmin(stack.client, kinds: .app)
      let run = try await admin.run("hourly", on: jobs, by: .terminal)
      #expect(run.tick == clock.now && run.kind == "test.sweep" && run.queue == "default")
      let refused = await #expect(throws: OperationError.self) {
        try await admin.run("hourly", on: jobs, by: .terminal)
      }
      #expect(refused?.code == .conflict && refused?.message.contains("has just fired") == true)
      clock.advance(by: .seconds(1))
      let pending = await #expect(throws: OperationError.self) {
        try await admin.run("hourly", on: jobs, by: .terminal)
      }
      #expect(pending?.code == .conflict && pending?.message.contains("'hourly'") == true)
      // The refused run left nothing behind.
      let store = PostgresScheduleStore(pool: stack.pool)
      #expect(try await store.ticks(of: "hourly", limit: 10).map(\.job.description) == [run.id])
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 1)
      #expect(
        try await store.states().map(\.nextTick) == [
          Date(unixMilliseconds: Int64(run.tick.timeIntervalSince1970 + 3600) * 1000)
        ])

      let unknown = await #expect(throws: OperationError.self) { try await admin.run("hourl", on: jobs, by: .terminal) }
      #expect(unknown?.code == .usage && unknown?.message.contains("nearest is 'hourly'") == true)
    }
  }
}
