import DurableJobs
import Foundation
import Testing

@Suite struct CronExpressionTests {
  private let utc = TimeZone.gmt

  /// The first ticks after 2026-01-01T00:00:00Z, a Thursday.
  private func ticks(_ expression: String, _ count: Int) throws -> [String] {
    let start = try Date("2026-01-01T00:00:00Z", strategy: .iso8601)
    let expression = try CronExpression(expression)
    return Array(
      expression.ticks(after: start, through: .distantFuture, in: utc).prefix(count).map {
        String($0.formatted(.iso8601).dropLast(4))
      })
  }

  @Test(arguments: [
    ("* * * * *", ["2026-01-01T00:01", "2026-01-01T00:02"]),
    ("*/20 * * * *", ["2026-01-01T00:20", "2026-01-01T00:40", "2026-01-01T01:00"]),
    ("5-50/20 3 * * *", ["2026-01-01T03:05", "2026-01-01T03:25", "2026-01-01T03:45", "2026-01-02T03:05"]),
    ("0 0,12-14/2 * * *", ["2026-01-01T12:00", "2026-01-01T14:00", "2026-01-02T00:00"]),
    ("30 4 31 * *", ["2026-01-31T04:30", "2026-03-31T04:30", "2026-05-31T04:30"]),
    ("0 0 * JAN,mar *", ["2026-01-02T00:00", "2026-01-03T00:00"]),
    ("0 9 * * mon-fri", ["2026-01-01T09:00", "2026-01-02T09:00", "2026-01-05T09:00"]),
    ("0 9 * * sat-sun", ["2026-01-03T09:00", "2026-01-04T09:00", "2026-01-10T09:00"]),
    ("0 9 * * 7", ["2026-01-04T09:00", "2026-01-11T09:00"]),
    ("0 9 * * 0", ["2026-01-04T09:00", "2026-01-11T09:00"]),
    ("0 9 * * 5-7", ["2026-01-02T09:00", "2026-01-03T09:00", "2026-01-04T09:00", "2026-01-09T09:00"]),
    ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00"]),
    ("@hourly", ["2026-01-01T01:00", "2026-01-01T02:00"]),
    ("@daily", ["2026-01-02T00:00", "2026-01-03T00:00"]),
    ("@midnight", ["2026-01-02T00:00"]),
    ("@weekly", ["2026-01-04T00:00", "2026-01-11T00:00"]),
    ("@monthly", ["2026-02-01T00:00", "2026-03-01T00:00"]),
    ("@Yearly", ["2027-01-01T00:00", "2028-01-01T00:00"]),
    ("  0   0 * *   * ", ["2026-01-02T00:00"]),
  ])
  func ticksAreTheOnesItNames(expression: String, expected: [String]) throws {
    #expect(try ticks(expression, expected.count) == expected)
  }

  @Test func twoDayFieldsAreEitherOrUnlessOneBeginsWithAStar() throws {
    // Each 13th and each Friday.
    #expect(
      try ticks("0 0 13 * fri", 4) == ["2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"])
    // Odd days that are Fridays.
    #expect(try ticks("0 0 */2 * fri", 3) == ["2026-01-09T00:00", "2026-01-23T00:00", "2026-02-13T00:00"])
    // 13ths that are Sundays, Tuesdays, Thursdays or Saturdays.
    #expect(try ticks("0 0 13 * */2", 2) == ["2026-01-13T00:00", "2026-06-13T00:00"])
  }

  @Test(arguments: ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 feb *"])
  func aDateThatNeverIsEndsTheSearch(expression: String) throws {
    for zone in ["UTC", "America/New_York"] {
      let zone = try #require(TimeZone(identifier: zone))
      #expect(try CronExpression(expression).next(after: Date(), in: zone) == nil)
    }
    #expect(try CronExpression("0 0 30 2 mon").next(after: Date(), in: utc) != nil)
  }

  @Test func leapDaysAreFoundAcrossACenturyWithoutOne() throws {
    let start = try Date("2096-03-01T00:00:00Z", strategy: .iso8601)
    let next = try CronExpression("0 0 29 2 *").next(after: start, in: utc)
    #expect(next?.formatted(.iso8601) == "2104-02-29T00:00:00Z")
  }

  @Test func aTickIsAfterTheMomentAndNeverAtIt() throws {
    let noon = try Date("2026-01-01T12:00:00Z", strategy: .iso8601)
    let expression = try CronExpression("0 12 * * *")
    #expect(expression.next(after: noon, in: utc) == noon + 86400)
    #expect(expression.next(after: noon - 0.001, in: utc) == noon)
    #expect(expression.next(after: noon + 0.001, in: utc) == noon + 86400)
    #expect(Array(expression.ticks(after: noon, through: noon + 86400, in: utc)) == [noon + 86400])
    #expect(Array(expression.ticks(after: noon, through: noon + 86399, in: utc)).isEmpty)
  }

  @Test(arguments: [
    ("", "has 0 fields instead of five: minute, hour, day of month, month, day of week"),
    ("0 0 * *", "has 4 fields instead of five"),
    ("0 0 0 * * *", "has 6 fields instead of five"),
    (
      "60 * * * *",
      "the minute '60' of the cron expression '60 * * * *' is invalid: '60' is not a valid value; use a number"
    ),
    ("* 24 * * *", "the hour '24' of"),
    ("* -1 * * *", "the hour '-1' of"),
    (
      "* * 0 * *",
      "the day of month '0' of the cron expression '* * 0 * *' is invalid: '0' is not a valid value; use a number"
    ),
    ("* * * 13 *", "the month '13' of"),
    ("* * * foo *", "use a number from 1 to 12 or a name from jan to dec"),
    ("* * * * 8", "use a number from 0 to 7 or a name from sun to sat"),
    ("* * * * monday", "'monday' is not a valid value"),
    ("*/0 * * * *", "the step in '*/0' is '0'; use a number from 1 to 59"),
    ("*/x * * * *", "the step in '*/x' is 'x'"),
    ("*/ * * * *", "the step in '*/' is ''"),
    ("5/15 * * * *", "the step in '5/15' has no range before it; write */n or a-b/n"),
    ("50-10 * * * *", "the range '50-10' ends before it begins; write two ranges, separated by a comma"),
    ("1,,2 * * * *", "an entry of its list is empty"),
    ("1, * * * *", "an entry of its list is empty"),
    ("*5 * * * *", "'*5' is not a valid value"),
    ("+5 * * * *", "'+5' is not a valid value"),
    ("005 * * * *", "'005' is not a valid value"),
    ("٣ * * * *", "'٣' is not a valid value"),
    ("* * L * *", "'L' is not a valid value"),
    ("* * ? * *", "'?' is not a valid value"),
    ("@reboot", "is unknown; those that begin with @ are: @hourly, @daily"),
    ("@daily 5", "is unknown; those that begin with @ are"),
  ])
  func aWrongOneNamesTheFieldWhatIsWrongAndWhatIsRight(expression: String, problem: String) throws {
    let error = #expect(throws: ScheduleError.self) { try CronExpression(expression) }
    #expect(error?.code == .expression)
    #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
    #expect(throws: ScheduleError.self) { try Timing.cron(expression, .gmt) }
  }
}
