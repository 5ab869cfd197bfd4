import Foundation

/// A time as pages show it, in UTC. A template writes
/// `<time datetime="{{iso}}" title="{{text}} UTC">{{distance}}</time>`.
public struct PageMoment: Sendable {
  /// In ISO 8601, for machines.
  public let iso: String
  /// `2026-11-21 18:52:03`.
  public let text: String
  /// `3 min ago`, `in 2 h`.
  public let distance: String

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

  /// One unit is precise enough for a distance.
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
