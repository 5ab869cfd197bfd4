import DurableJobs
import Foundation

extension Int {
  /// The number with commas between thousands.
  package var grouped: String {
    var digits = String(magnitude)
    var text = ""
    while digits.count > 3 {
      text = "," + digits.suffix(3) + text
      digits.removeLast(3)
    }
    return (self < 0 ? "-" : "") + digits + text
  }
}

extension Double {
  /// Seconds in a suitable unit: `8 ms`, `1.4 s`, `12 min`, `3 h`, `2 d`.
  package var span: String {
    switch self {
    case ..<0.001: self <= 0 ? "0 ms" : "<1 ms"
    case ..<1: "\(Int((self * 1000).rounded())) ms"
    case ..<10: "\(Double(Int((self * 10).rounded())) / 10) s"
    case ..<120: "\(Int(self.rounded())) s"
    case ..<7200: "\(Int((self / 60).rounded())) min"
    case ..<172_800: "\(Int((self / 3600).rounded())) h"
    default: "\(Int((self / 86400).rounded())) d"
    }
  }

  /// A rate, with one decimal if it is small.
  package var rate: String {
    if self == 0 { return "0" }
    if self < 0.05 { return "<0.1" }
    return self < 10 ? "\(Double(Int((self * 10).rounded())) / 10)" : Int(self.rounded()).grouped
  }
}

extension Date {
  /// In UTC, to the second.
  package var short: String { formatted(.iso8601) }

  /// The distance from now: `in 2 h`, `3 min ago`.
  package func away(from now: Date = JobClock.now) -> String {
    let seconds = timeIntervalSince(now)
    return seconds > 0 ? "in \(seconds.span)" : "\((-seconds).span) ago"
  }
}

/// Lines of names and values, with the values aligned.
package func facts(_ lines: [(String, String)]) -> String {
  let width = (lines.map(\.0.columns).max() ?? 0) + 2
  return lines.map { $0.0.fitted(to: width) + $0.1 }.joined(separator: "\n")
}
