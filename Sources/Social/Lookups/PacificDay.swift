import Foundation

/// A day in California, including daylight saving time. YouTube's budgets are for such days.
public struct PacificDay: Hashable, Sendable, CustomStringConvertible {
  /// In ISO 8601, `2026-03-08`.
  public let description: String
  /// The midnight at its start.
  public let start: Date
  /// The midnight at its end: 23, 24 or 25 hours after `start`.
  public let end: Date

  /// The day that `date` falls on.
  public init(containing date: Date) {
    let calendar = Self.calendar
    start = calendar.startOfDay(for: date)
    let parts = calendar.dateComponents([.year, .month, .day], from: start)
    description = Self.text(parts)
    // 36 hours after `start` is in the next day, whatever the length of this one.
    end = calendar.startOfDay(for: start.addingTimeInterval(36 * 3600))
  }

  private static func text(_ parts: DateComponents) -> String {
    func padded(_ number: Int?, _ width: Int) -> String {
      let digits = String(number ?? 0)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return "\(padded(parts.year, 4))-\(padded(parts.month, 2))-\(padded(parts.day, 2))"
  }

  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    // A machine without time zone data uses Pacific Standard Time all year.
    calendar.timeZone =
      TimeZone(identifier: "America/Los_Angeles") ?? TimeZone(secondsFromGMT: -8 * 3600) ?? .gmt
    return calendar
  }()
}
