/// What a notification tells of. Its number is part of the API and of the tables.
public struct NotificationType: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  public let rawValue: Int16
  public init(rawValue: Int16) { self.rawValue = rawValue }

  /// Somebody likes a post of the reader's.
  public static let like = NotificationType(rawValue: 0)
  /// Somebody commented on a post of the reader's.
  public static let comment = NotificationType(rawValue: 1)
  /// Somebody follows the reader.
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
