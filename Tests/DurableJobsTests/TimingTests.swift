import Foundation
import TestSupport
import Testing

@testable import DurableJobs

@Suite struct TimingTests {
  @Test func intervalsAreCountedFromTheEpochSoThatAllAgree() throws {
    let timing = try Timing.every(.seconds(6 * 3600))
    let start = try Date("2026-01-01T05:59:59Z", strategy: .iso8601)
    #expect(timing.next(after: start)?.formatted(.iso8601) == "2026-01-01T06:00:00Z")
    #expect(timing.next(after: start + 1)?.formatted(.iso8601) == "2026-01-01T12:00:00Z")
    #expect(timing.next(after: start + 0.5)?.formatted(.iso8601) == "2026-01-01T06:00:00Z")
    // Any time in between gives the same result.
    for _ in 0..<50 {
      let moment = start + 1 + Double.random(in: 0..<21_600)
      #expect(timing.next(after: moment)?.formatted(.iso8601) == "2026-01-01T12:00:00Z", "\(moment)")
    }
    // Before 1970, too.
    #expect(timing.next(after: -1) == 0)
    #expect(timing.next(after: -21_600_001) == -21_600_000)
    #expect(timing.next(after: 0) == 21_600_000)
  }

  @Test(arguments: [
    Duration.zero, .seconds(-60), .milliseconds(99), .microseconds(100_500), .seconds(367 * 86400), .seconds(Int64.max),
  ])
  func anIntervalThatCannotBeIsRefused(interval: Duration) throws {
    let error = #expect(throws: ScheduleError.self) { try Timing.every(interval) }
    #expect(error?.code == .interval)
    #expect(error?.message.contains("use whole milliseconds, from 100 to a year") == true)
  }

  @Test(arguments: [
    (Duration.seconds(86400), "every 1d"), (.seconds(7200), "every 2h"), (.seconds(90), "every 90s"),
    (.seconds(120), "every 2m"), (.milliseconds(250), "every 250ms"),
  ])
  func itsTextTellsTimingsApart(interval: Duration, text: String) throws {
    #expect(try Timing.every(interval).description == text)
    let zone = try #require(TimeZone(identifier: "Asia/Seoul"))
    #expect(try Timing.cron("0  0 * * *", zone).description == "0 0 * * * Asia/Seoul")
  }

  @Test func theNewestTicksOfAStretchAreFoundWithoutAllOfThem() throws {
    let timing = try Timing.every(.seconds(1))
    let year: Int64 = 365 * 86_400_000
    #expect(timing.newest(3, after: 0, through: year) == [year - 2000, year - 1000, year])
    #expect(timing.newest(3, after: year - 1500, through: year) == [year - 1000, year])
    #expect(timing.newest(3, after: year, through: year).isEmpty)
    #expect(timing.newest(0, after: 0, through: year).isEmpty)
    let yearly = try Timing.cron("@yearly", .gmt)
    #expect(yearly.newest(2, after: 0, through: 3 * year) == [year, 2 * year])
    #expect(yearly.newest(9, after: -1, through: year + 1) == [0, year])
    #expect(try Timing.cron("0 0 30 2 *", .gmt).newest(9, after: 0, through: year).isEmpty)
  }

  @Test func theNewestAreTheEndOfAll() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let timing = try Timing.every(.milliseconds(Int.random(in: 100...5_000_000, using: &generator)))
      let start = Int64.random(in: -10_000_000...10_000_000, using: &generator)
      let end = start + Int64.random(in: 0...40_000_000, using: &generator)
      var all: [Int64] = []
      while let tick = timing.next(after: all.last ?? start), tick <= end, all.count < 100_000 { all.append(tick) }
      if all.count == 100_000 { continue }
      let count = Int.random(in: 0...20, using: &generator)
      #expect(timing.newest(count, after: start, through: end) == Array(all.suffix(count)), "seed \(seed)")
    }
  }

  @Test func namesAreCheckedBeforeAnythingRuns() throws {
    let timing = try Timing.every(.seconds(1))
    func check(_ names: ScheduleName...) throws {
      try Schedule.check(names.map { Schedule($0, timing) { _ in Numbered(number: 1) } })
    }
    try check("a", "b.c-d_e")
    for names: [ScheduleName] in [["a b"], [""], ["a", "b", "a"]] {
      let error = #expect(throws: ScheduleError.self) {
        try Schedule.check(names.map { Schedule($0, timing) { _ in Numbered(number: 1) } })
      }
      #expect(error?.code == .name)
    }
  }
}
