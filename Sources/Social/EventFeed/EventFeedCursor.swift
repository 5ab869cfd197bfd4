/// How far somebody who listens has heard: what comes after it is news.
///
/// Each number is of rows that become visible in their order, so a cursor skips nothing, and nothing comes twice.
public struct EventFeedCursor: Sendable, Hashable {
  /// Of the account's notifications.
  public var notification: Int
  /// Of its messages.
  public var message: Int
  /// Of comments, lookups, celebs and agreements: `live_events`.
  public var live: Int
  /// Of the account's readings of conversations.
  public var reading: Int
  /// Of its checks of notifications.
  public var check: Int

  public init(notification: Int, message: Int, live: Int, reading: Int, check: Int) {
    self.notification = notification
    self.message = message
    self.live = live
    self.reading = reading
    self.check = check
  }

  /// As a client gives it back after a connection was lost. Nil for any other text, and for what earlier versions gave.
  public init?(text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).compactMap { Int($0) }
    guard parts.count == 5, parts.allSatisfy(EntityID.all.contains) else { return nil }
    self.init(notification: parts[0], message: parts[1], live: parts[2], reading: parts[3], check: parts[4])
  }

  /// Goes back to an earlier cursor, and never forward.
  public mutating func goBack(to earlier: EventFeedCursor) {
    notification = min(notification, earlier.notification)
    message = min(message, earlier.message)
    live = min(live, earlier.live)
    reading = min(reading, earlier.reading)
    check = min(check, earlier.check)
  }

  public var text: String { "\(notification)-\(message)-\(live)-\(reading)-\(check)" }
}
