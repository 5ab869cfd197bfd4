import Foundation

/// Numbers, times and durations as pages show them: the same everywhere, in UTC.
enum Format {
  /// `1,234,567`.
  static func number(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number.magnitude).reversed().enumerated() {
      if index > 0, index.isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return (number < 0 ? "−" : "") + String(text.reversed())
  }

  /// `0`, `0.4`, `12`, `1,234`: three digits at most behind which nothing matters.
  static func rate(_ number: Double) -> String {
    if number == 0 { return "0" }
    if number < 0.1 { return "<0.1" }
    return number < 10 ? String(format: "%.1f", number) : Self.number(Int(number.rounded()))
  }

  /// `340 ms`, `4.2 s`, `3 min 12 s`, `2 h 5 min`, `4 d 3 h`; a dash for none.
  static func duration(_ seconds: Double?) -> String {
    guard let seconds else { return "–" }
    switch max(0, seconds) {
    case ..<0.001: return seconds <= 0 ? "0 s" : "<1 ms"
    case ..<0.9995: return "\(Int((seconds * 1000).rounded())) ms"
    case ..<9.95: return String(format: "%.1f s", seconds)
    case ..<60: return "\(Int(seconds)) s"
    case ..<3600: return pair(Int(seconds), 60, "min", 1, "s")
    case ..<86_400: return pair(Int(seconds), 3600, "h", 60, "min")
    default: return pair(Int(seconds), 86_400, "d", 3600, "h")
    }
  }

  private static func pair(_ seconds: Int, _ large: Int, _ name: String, _ small: Int, _ smallName: String) -> String {
    let rest = seconds % large / small
    return "\(seconds / large) \(name)" + (rest == 0 ? "" : " \(rest) \(smallName)")
  }

  /// `512 B`, `12.3 MB`.
  static func bytes(_ count: Int) -> String {
    var (number, unit) = (Double(count), "B")
    for larger in ["kB", "MB", "GB", "TB"] where number >= 1000 { (number, unit) = (number / 1000, larger) }
    return number < 10 && unit != "B" ? String(format: "%.1f %@", number, unit) : "\(Int(number.rounded())) \(unit)"
  }

  /// A text of at most `limit` characters, on one line.
  static func line(_ text: String, limit: Int = 160) -> String {
    let line = text.prefix(limit * 4).split(whereSeparator: \.isNewline).joined(separator: " ")
    return line.count > limit ? String(line.prefix(limit)) + "…" : line
  }
}

/// A moment, as pages show it.
struct Moment {
  /// For machines: ISO 8601.
  let iso: String
  /// `2026-11-21 18:52:03`.
  let text: String
  /// `3 min ago`, `in 2 h`.
  let distance: String

  init(_ date: Date, now: Date) {
    iso = date.formatted(.iso8601)
    text = iso.prefix(10) + " " + iso.dropFirst(11).prefix(8)
    let seconds = now.timeIntervalSince(date)
    switch seconds {
    case 0..<1: distance = "now"
    case 1...: distance = Self.rough(seconds) + " ago"
    default: distance = seconds > -1 ? "now" : "in " + Self.rough(-seconds)
    }
  }

  init?(_ date: Date?, now: Date) {
    guard let date else { return nil }
    self.init(date, now: now)
  }

  /// One unit is enough to know how far away something is.
  private static func rough(_ seconds: Double) -> String {
    switch seconds {
    case ..<60: "\(Int(seconds)) s"
    case ..<3600: "\(Int(seconds / 60)) min"
    case ..<86_400: "\(Int(seconds / 3600)) h"
    case ..<63_072_000: "\(Int(seconds / 86_400)) d"
    default: "\(Int(seconds / 31_557_600)) years"
    }
  }
}
