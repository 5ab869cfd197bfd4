import Foundation
import Testing

@testable import Social

@Suite struct PacificDayTests {
  @Test(arguments: [
    // An ordinary winter day, and one in summer.
    ("2026-01-15T12:00:00Z", "2026-01-15", "2026-01-15T08:00:00Z", "2026-01-16T08:00:00Z"),
    ("2026-07-15T06:59:59Z", "2026-07-14", "2026-07-14T07:00:00Z", "2026-07-15T07:00:00Z"),
    ("2026-07-15T07:00:00Z", "2026-07-15", "2026-07-15T07:00:00Z", "2026-07-16T07:00:00Z"),
    // The day that loses an hour: before and after it does.
    ("2026-03-08T09:30:00Z", "2026-03-08", "2026-03-08T08:00:00Z", "2026-03-09T07:00:00Z"),
    ("2026-03-09T06:59:59Z", "2026-03-08", "2026-03-08T08:00:00Z", "2026-03-09T07:00:00Z"),
    ("2026-03-09T07:00:00Z", "2026-03-09", "2026-03-09T07:00:00Z", "2026-03-10T07:00:00Z"),
    // The day with a repeated hour.
    ("2026-11-01T08:30:00Z", "2026-11-01", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"),
    ("2026-11-01T09:30:00Z", "2026-11-01", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"),
    ("2026-11-02T07:59:59Z", "2026-11-01", "2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"),
    ("2026-12-31T23:00:00Z", "2026-12-31", "2026-12-31T08:00:00Z", "2027-01-01T08:00:00Z"),
  ])
  func aDayEndsAtMidnightInCalifornia(_ time: String, _ day: String, _ start: String, _ end: String) throws {
    let found = PacificDay(containing: try date(time))
    #expect(found.description == day)
    #expect(try found.start == date(start))
    #expect(try found.end == date(end))
  }

  @Test func daysFollowEachOther() throws {
    var day = PacificDay(containing: try date("2025-12-31T12:00:00Z"))
    for _ in 0..<400 {
      let next = PacificDay(containing: day.end)
      #expect(next.start == day.end)
      #expect(next.description > day.description)
      day = next
    }
  }
}
