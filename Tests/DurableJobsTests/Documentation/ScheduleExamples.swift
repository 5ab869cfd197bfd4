import DurableJobs
import DurableJobsTesting
import Foundation
import JobsTestSupport
import Logging
import TestSupport
import Testing

struct DailyReport: Job {
  static let kind: JobKind = "reports.daily"
  var day: Date
}

struct SweepCarts: Job {
  static let kind: JobKind = "carts.sweep"
}

enum ShopSchedules {
  static func all(_ zone: TimeZone) throws -> [Schedule] {
    [
      Schedule("reports.daily", try .cron("0 6 * * mon-fri", zone)) { tick in
        DailyReport(day: tick.time)
      },
      Schedule(
        "carts.sweep", try .every(.seconds(3600)), missed: .skip, options: JobOptions(uniqueKey: "carts.sweep")
      ) { _ in
        SweepCarts()
      },
    ]
  }
}

@Suite(.timeLimit(.minutes(5))) struct ScheduleExamples {
  @Test func aScheduleFiresAtItsTicks() async throws {
    let stage = Stage()
    let store = InMemoryScheduleStore()
    let clock = try ManualClock("2026-01-05T05:30:00Z")
    let (client, logger) = (stage.client, Logger.quiet)
    let zone = TimeZone.gmt

    let scheduler = try Scheduler(
      ShopSchedules.all(zone), client: client, store: store, clock: clock, logger: logger)

    try await RunningWorker.run(scheduler) { _ in
      try await eventually("both are known") { store.states().count == 2 && clock.sleeperCount == 2 }
      clock.advance(by: .seconds(1800))
      try await eventually("both have fired") {
        store.states().map(\.lastTick?.unixMilliseconds) == [1_767_592_800_000, 1_767_592_800_000]
      }
      #expect(stage.ledger.pendingCount == 2)
    }
  }

  @Test func aTimingTellsItsTicks() throws {
    let seoul = try #require(TimeZone(identifier: "Asia/Seoul"))
    let monday = try Date("2026-01-05T00:00:00Z", strategy: .iso8601)
    let timing = try Timing.cron("0 6 * * mon-fri", seoul)
    #expect(timing.next(after: monday) == (try Date("2026-01-05T21:00:00Z", strategy: .iso8601)))
    #expect(throws: ScheduleError.self) { try Timing.cron("0 25 * * *", seoul) }
  }
}
