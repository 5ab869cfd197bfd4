import Foundation

/// How far somebody who listens has heard: what comes after it is news.
///
/// An account's notifications and its messages become visible in the order of their ids, so a cursor skips nothing.
public struct EventFeedCursor: Sendable, Hashable {
  public var notification: Int
  public var message: Int
  /// Until when ended lookups were read. Times do not order what commits, and come from the workers' clocks, so
  /// `lookBack` before it is read again.
  public var since: Date
  /// Lookups that were told and may be read again, with when they ended.
  public var toldLookups: [UUID: Date] = [:]

  /// In seconds.
  static let lookBack = 60.0

  public init(notification: Int, message: Int, since: Date) {
    self.notification = notification
    self.message = message
    self.since = since
  }

  /// As a client gives it back after a connection was lost: `notification-message-milliseconds`. Nil for any other
  /// text.
  public init?(text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 3, let notification = parts[0], let message = parts[1], let milliseconds = parts[2],
      [notification, message, milliseconds].allSatisfy(EntityID.all.contains)
    else { return nil }
    self.init(
      notification: notification, message: message, since: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
  }

  /// Goes on to `date`.
  mutating func advance(to date: Date) {
    since = max(since, date)
    let oldest = since.addingTimeInterval(-Self.lookBack)
    toldLookups = toldLookups.filter { $0.value > oldest }
  }

  /// Goes back to an earlier cursor: no further than a day for lookups, and never forward.
  public mutating func goBack(to earlier: EventFeedCursor) {
    notification = min(notification, earlier.notification)
    message = min(message, earlier.message)
    since = max(since.addingTimeInterval(-86_400), min(since, earlier.since))
  }

  public var text: String { "\(notification)-\(message)-\(Int(since.timeIntervalSince1970 * 1000))" }
}
