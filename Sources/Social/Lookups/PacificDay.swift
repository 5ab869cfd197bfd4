import Foundation

/// A day in California: budgets at YouTube are for such a day, daylight saving included.
public struct PacificDay: Hashable, Sendable, CustomStringConvertible {
  /// As ISO 8601 writes it, `2026-03-08`.
  public let description: String
  /// Midnight before.
  public let start: Date
  /// Midnight after: 23, 24 or 25 hours later.
  public let end: Date

  /// The day that `date` falls on.
  public init(containing date: Date) {
    let calendar = Self.calendar
    start = calendar.startOfDay(for: date)
    let parts = calendar.dateComponents([.year, .month, .day], from: start)
    description = Self.text(parts)
    // Noon of the next day, whatever the length of this one.
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
    // A machine without time zone data gets Pacific standard time all year.
    calendar.timeZone =
      TimeZone(identifier: "America/Los_Angeles") ?? TimeZone(secondsFromGMT: -8 * 3600) ?? .gmt
    return calendar
  }()
}
