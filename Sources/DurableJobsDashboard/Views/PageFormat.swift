import DurableJobsAdmin
import Foundation

/// Formats numbers and durations the same way on every page.
public enum PageFormat {
  /// `1,234,567`.
  public static func number(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number.magnitude).reversed().enumerated() {
      if index > 0, index.isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return (number < 0 ? "−" : "") + String(text.reversed())
  }

  /// `0`, `0.4`, `12`, `1,234`: at most one decimal, and none from 10 on.
  public static func rate(_ number: Double) -> String {
    if number == 0 { return "0" }
    if number < 0.1 { return "<0.1" }
    return number < 10 ? String(format: "%.1f", number) : Self.number(Int(number.rounded()))
  }

  /// `340 ms`, `4.2 s`, `3 min 12 s`, `2 h 5 min`, `4 d 3 h`; a dash for none.
  public static func duration(_ seconds: Double?) -> String {
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

  /// `3 ms · 12 ms · 0.2 s`: the median, and the 95th and 99th percentile; a dash for none.
  static func percentiles(_ percentiles: Percentiles?) -> String {
    guard let percentiles else { return "–" }
    return [percentiles.p50, percentiles.p95, percentiles.p99].map { duration($0) }.joined(separator: " · ")
  }

  /// `512 B`, `12.3 MB`.
  public static func bytes(_ count: Int) -> String {
    var (number, unit) = (Double(count), "B")
    for larger in ["kB", "MB", "GB", "TB"] where number >= 1000 { (number, unit) = (number / 1000, larger) }
    return number < 10 && unit != "B" ? String(format: "%.1f %@", number, unit) : "\(Int(number.rounded())) \(unit)"
  }

  /// Text of at most `limit` characters, on one line.
  public static func line(_ text: String, limit: Int = 160) -> String {
    let line = text.prefix(limit * 4).split(whereSeparator: \.isNewline).joined(separator: " ")
    return line.count > limit ? String(line.prefix(limit)) + "…" : line
  }
}
