/// The event that a notification reports. Its number is part of the API and of the tables.
public struct NotificationType: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: Int16
  public init(rawValue: Int16) { self.rawValue = rawValue }

  /// An account likes one of the reader's posts.
  public static let like = NotificationType(rawValue: 0)
  /// An account commented on one of the reader's posts.
  public static let comment = NotificationType(rawValue: 1)
  /// An account follows the reader.
  public static let follow = NotificationType(rawValue: 2)

  public var description: String {
    switch self {
    case .like: "like"
    case .comment: "comment"
    case .follow: "follow"
    default: "type \(rawValue)"
    }
  }
}
