import DurableJobs
import Foundation
import TestSupport
import Testing

/// Compares the calculated ticks with a walk through all minutes.
@Suite(.timeLimit(.minutes(5))) struct RandomizedCronTests {
  /// An expression in parts, so that the walk does not need the parser.
  private struct Random {
    var fields: [(text: String, values: Set<Int>)]

    init(using generator: inout SeededGenerator) {
      fields = [0...59, 0...23, 1...31, 1...12, 0...6].enumerated().map { index, bounds in
        // Months and weekdays are usually wildcards, or the walk would find nothing.
        if Int.random(in: 0..<10, using: &generator) < [3, 4, 7, 8, 7][index] {
          return ("*", Set(bounds))
        }
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
          let step = Int.random(in: 1...min(12, bounds.upperBound), using: &generator)
          return ("*/\(step)", Set(stride(from: bounds.lowerBound, through: bounds.upperBound, by: step)))
        case 1:
          let start = Int.random(in: bounds, using: &generator)
          let end = Int.random(in: start...bounds.upperBound, using: &generator)
          return ("\(start)-\(end)", Set(start...end))
        default:
          let values = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
            Int.random(in: bounds, using: &generator)
          }
          return (values.map(String.init).joined(separator: ","), Set(values))
        }
      }
    }

    var text: String { fields.map(\.text).joined(separator: " ") }

    func names(_ wall: DateComponents) -> Bool {
      guard let minute = wall.minute, let hour = wall.hour, let day = wall.day, let month = wall.month,
        let weekday = wall.weekday
      else { return false }
      let (byDate, byWeekday) = (fields[2].values.contains(day), fields[4].values.contains(weekday - 1))
      let isDay =
        [fields[2], fields[4]].contains { $0.text.hasPrefix("*") } ? byDate && byWeekday : byDate || byWeekday
      return fields[0].values.contains(minute) && fields[1].values.contains(hour) && isDay
        && fields[3].values.contains(month)
    }

    var isHourFixed: Bool { !fields[1].text.hasPrefix("*") }
    var isFixed: Bool { isHourFixed && !fields[0].text.hasPrefix("*") }
  }

  /// Every minute of a period in the zone's local time, shared by all expressions.
  private struct Walk {
    struct Minute {
      let moment: Date
      let wall: DateComponents
      /// Whether the clocks have shown it before.
      let isRepeated: Bool
      /// The local times that were skipped just before.
      let skipped: [DateComponents]
    }

    var minutes: [Minute] = []

    init(from start: Date, days: Int, zone: TimeZone) {
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = zone
      var plain = calendar
      plain.timeZone = .gmt
      let units: Set<Calendar.Component> = [.year, .month, .day, .hour, .minute, .weekday]
      func index(_ wall: DateComponents) -> Int {
        Int((plain.date(from: wall)?.timeIntervalSince1970 ?? 0) / 60)
      }
      var latest: Int?
      for minute in 0..<days * 1440 {
        let moment = start + Double(minute) * 60
        let wall = calendar.dateComponents(units, from: moment)
        let shown = index(wall)
        let skipped = latest.map { shown > $0 + 1 ? Array($0 + 1..<shown) : [] } ?? []
        minutes.append(
          Minute(
            moment: moment, wall: wall, isRepeated: latest.map { shown <= $0 } ?? false,
            skipped: skipped.map { plain.dateComponents(units, from: Date(timeIntervalSince1970: Double($0) * 60)) }))
        latest = max(latest ?? shown, shown)
      }
    }

    func ticks(_ expression: Random) -> [Date] {
      minutes.filter { minute in
        if expression.isHourFixed, minute.skipped.contains(where: expression.names) { return true }
        return expression.names(minute.wall) && !(minute.isRepeated && expression.isFixed)
      }.map(\.moment)
    }
  }

  @Test(arguments: [
    ("America/New_York", "2026-03-07T00:00:00Z"), ("America/New_York", "2026-10-31T00:00:00Z"),
    ("Europe/Berlin", "2026-03-28T00:00:00Z"), ("Europe/Berlin", "2026-10-24T00:00:00Z"),
    ("Asia/Seoul", "2026-02-27T00:00:00Z"), ("Asia/Seoul", "1988-05-07T00:00:00Z"),
    ("Asia/Seoul", "1988-10-07T00:00:00Z"), ("Australia/Lord_Howe", "2026-04-03T00:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-02T00:00:00Z"), ("America/Sao_Paulo", "2018-11-03T00:00:00Z"),
    ("America/Sao_Paulo", "2019-02-16T00:00:00Z"), ("Pacific/Apia", "2011-12-29T00:00:00Z"),
  ])
  func theCalculationAgreesWithAWalkThroughAllMinutes(zone: String, start: String) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    let zone = try #require(TimeZone(identifier: zone))
    let start = try Date(start, strategy: .iso8601)
    let walk = Walk(from: start, days: 3, zone: zone)
    // The clocks change on the second or third day, so that the walk has seen the times that repeat.
    let (from, through) = (start + 4 * 3600, start + 3 * 86400 - 60)
    for _ in 0..<150 {
      let random = Random(using: &generator)
      let expression = try CronExpression(random.text)
      let found = Array(expression.ticks(after: from, through: through, in: zone))
      let expected = walk.ticks(random).filter { $0 > from && $0 <= through }
      #expect(found == expected, "'\(random.text)' in \(zone.identifier), seed \(seed)")
      // The result does not depend on where the search starts.
      if let middle = expected.randomElement(using: &generator) {
        let before = expression.next(after: middle - Double.random(in: 0.01...59, using: &generator), in: zone)
        #expect(before == middle, "'\(random.text)' before \(middle), seed \(seed)")
      }
    }
  }
}
