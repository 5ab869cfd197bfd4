import DurableJobs
import Foundation
import Testing

/// The table in ``CronExpression``.
@Suite struct DaylightSavingTests {
  /// The ticks between two moments, in the zone's local time with its UTC offset.
  private func ticks(_ expression: String, _ zone: String, _ start: String, _ end: String) throws -> [String] {
    let zone = try #require(TimeZone(identifier: zone))
    var style = Date.ISO8601FormatStyle(includingFractionalSeconds: false, timeZone: zone)
    style = style.year().month().day().timeZone(separator: .omitted).time(includingFractionalSeconds: false)
    let expression = try CronExpression(expression)
    return try expression.ticks(
      after: Date(start, strategy: .iso8601), through: Date(end, strategy: .iso8601), in: zone
    ).map { $0.formatted(style) }
  }

  /// New York's clocks go from 02:00 to 03:00 on 2026-03-08, at 07:00 UTC.
  private func inNewYorksGap(_ expression: String) throws -> [String] {
    try ticks(expression, "America/New_York", "2026-03-08T05:59:59Z", "2026-03-08T08:30:00Z")
  }

  /// New York's clocks go from 02:00 back to 01:00 on 2026-11-01, at 06:00 UTC.
  private func inNewYorksFold(_ expression: String) throws -> [String] {
    try ticks(expression, "America/New_York", "2026-11-01T04:30:00Z", "2026-11-01T07:30:00Z")
  }

  @Test(arguments: [
    // A fixed hour in the gap: once, right after it.
    ("30 2 * * *", ["2026-03-08T03:00:00-0400"]),
    ("0,30 2 * * *", ["2026-03-08T03:00:00-0400"]),
    ("*/15 2 * * *", ["2026-03-08T03:00:00-0400"]),
    ("30 2,3 * * *", ["2026-03-08T03:00:00-0400", "2026-03-08T03:30:00-0400"]),
    // One tick where two would fall on the same moment.
    ("0 2,3 * * *", ["2026-03-08T03:00:00-0400"]),
    (
      "0 0-23 * * *",
      ["2026-03-08T01:00:00-0500", "2026-03-08T03:00:00-0400", "2026-03-08T04:00:00-0400"]
    ),
    // Every hour skips the missing one.
    ("30 * * * *", ["2026-03-08T01:30:00-0500", "2026-03-08T03:30:00-0400", "2026-03-08T04:30:00-0400"]),
    ("0 */2 * * *", ["2026-03-08T04:00:00-0400"]),
    ("30 3 * * *", ["2026-03-08T03:30:00-0400"]),
    // A different day, month or weekday than the gap's.
    ("30 2 9 * *", []), ("30 2 * 4 *", []), ("30 2 * * mon", []), ("30 2 8 3 *", ["2026-03-08T03:00:00-0400"]),
  ])
  func theHourThatNeverHappens(expression: String, expected: [String]) throws {
    #expect(try inNewYorksGap(expression) == expected)
  }

  @Test(arguments: [
    // Hour and minute fixed: the first time only.
    ("30 1 * * *", ["2026-11-01T01:30:00-0400"]),
    ("0,30 1 * * *", ["2026-11-01T01:00:00-0400", "2026-11-01T01:30:00-0400"]),
    ("0 1,2 * * *", ["2026-11-01T01:00:00-0400", "2026-11-01T02:00:00-0500"]),
    // A wildcard: both times.
    (
      "30 * * * *",
      ["2026-11-01T01:30:00-0400", "2026-11-01T01:30:00-0500", "2026-11-01T02:30:00-0500"]
    ),
    (
      "*/30 1 * * *",
      [
        "2026-11-01T01:00:00-0400", "2026-11-01T01:30:00-0400", "2026-11-01T01:00:00-0500", "2026-11-01T01:30:00-0500",
      ]
    ),
    ("0 2 * * *", ["2026-11-01T02:00:00-0500"]),
  ])
  func theHourThatHappensTwice(expression: String, expected: [String]) throws {
    #expect(try inNewYorksFold(expression) == expected)
  }

  @Test func berlinGoesFromTwoToThreeAndFromThreeToTwo() throws {
    // 2026-03-29 at 01:00 UTC, 2026-10-25 at 01:00 UTC.
    let spring = try ticks("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z")
    #expect(spring == ["2026-03-29T03:00:00+0200", "2026-03-30T02:30:00+0200"])
    let autumn = try ticks("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z")
    #expect(autumn == ["2026-10-25T02:30:00+0200", "2026-10-26T02:30:00+0100"])
    let both = try ticks("30 */1 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z")
    #expect(both == ["2026-10-25T02:30:00+0200", "2026-10-25T02:30:00+0100"])
  }

  @Test func seoulHasNoSuchHours() throws {
    let days = try ticks("0 0 * * *", "Asia/Seoul", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")
    #expect(days.count == 365)
    #expect(days.allSatisfy { $0.hasSuffix("T00:00:00+0900") })
    #expect(Set(days).count == 365)
  }

  @Test(arguments: ["America/New_York", "Europe/Berlin", "Asia/Seoul", "America/Sao_Paulo", "Australia/Lord_Howe"])
  func aDailyTickComesOnceADayInEveryZone(zone: String) throws {
    for hour in [0, 1, 2, 3, 23] {
      let days = try ticks("30 \(hour) * * *", zone, "2016-01-01T16:00:00Z", "2018-12-31T16:00:00Z")
      #expect(Set(days.map { $0.prefix(10) }).count == 1095, "\(hour)")
      #expect(days.count == 1095, "\(hour)")
    }
  }

  @Test func aDayThatNeverHappensIsMadeUpForOnce() throws {
    // Samoa crossed the date line and had no 2011-12-30.
    let days = try ticks("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z")
    #expect(
      days == [
        "2011-12-29T12:00:00-1000", "2011-12-31T00:00:00+1400", "2011-12-31T12:00:00+1400", "2012-01-01T12:00:00+1400",
      ])
    let hours = try ticks("0 * * * *", "Pacific/Apia", "2011-12-30T08:00:00Z", "2011-12-30T11:00:00Z")
    #expect(hours.count == 3)
  }
}
