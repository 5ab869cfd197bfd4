/// A listener's position in its event feed; later rows are new.
///
/// Each number is an id whose rows become visible in id order, so a cursor skips no event and repeats none.
public struct EventFeedCursor: Sendable, Hashable {
  /// Of the account's notifications.
  public var notification: Int
  /// Of its messages.
  public var message: Int
  /// Of comments, lookups, celebs and agreements: `live_events`.
  public var live: Int
  /// Of the account's reads of conversations.
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

  /// Parses the text that a client returns after losing its connection. Nil for any other text, including earlier
  /// versions' cursors.
  public init?(text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).compactMap { Int($0) }
    guard parts.count == 5, parts.allSatisfy(EntityID.all.contains) else { return nil }
    self.init(notification: parts[0], message: parts[1], live: parts[2], reading: parts[3], check: parts[4])
  }

  /// Moves back to an earlier cursor, never forward.
  public mutating func goBack(to earlier: EventFeedCursor) {
    notification = min(notification, earlier.notification)
    message = min(message, earlier.message)
    live = min(live, earlier.live)
    reading = min(reading, earlier.reading)
    check = min(check, earlier.check)
  }

  public var text: String { "\(notification)-\(message)-\(live)-\(reading)-\(check)" }
}
