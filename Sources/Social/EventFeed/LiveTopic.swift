import LibPQClient

/// A topic that listening clients may have to read again. Transactions notify it on `LiveTopic.channel`.
public enum LiveTopic: Sendable, Hashable {
  /// The comments of a post.
  case thread(Int)
  /// A post's numbers of likes and comments.
  case counts(of: Int)
  /// A post that was removed.
  case gone(Int)
  case notifications(of: Int)
  case messages(of: Int)
  /// An account's sessions, one of which has ended.
  case sessions(of: Int)
  /// Lookups, looked-up celebs, and agreements.
  case lookups
  /// The accounts visible to an account: it has blocked another, or was blocked.
  case restrictions(of: Int)
  /// An account was hidden, with everything it posted.
  case hidden

  public static let channel = "fanmill_live"

  public init?(_ text: some StringProtocol) {
    switch text {
    case "k":
      self = .lookups
      return
    case "h":
      self = .hidden
      return
    default: break
    }
    guard let id = Int(text.dropFirst()) else { return nil }
    switch text.first {
    case "t": self = .thread(id)
    case "c": self = .counts(of: id)
    case "g": self = .gone(id)
    case "a": self = .notifications(of: id)
    case "m": self = .messages(of: id)
    case "s": self = .sessions(of: id)
    case "r": self = .restrictions(of: id)
    default: return nil
    }
  }

  var text: String {
    switch self {
    case .thread(let id): "t\(id)"
    case .counts(let id): "c\(id)"
    case .gone(let id): "g\(id)"
    case .notifications(let id): "a\(id)"
    case .messages(let id): "m\(id)"
    case .sessions(let id): "s\(id)"
    case .lookups: "k"
    case .restrictions(let id): "r\(id)"
    case .hidden: "h"
    }
  }

  /// Parses the topics in a notification's payload.
  public static func all(in payload: String) -> [LiveTopic] {
    payload.split(separator: " ").compactMap { LiveTopic($0) }
  }

  /// Notifies listeners when the transaction commits.
  static func notify(_ topics: Set<LiveTopic>, in transaction: PostgresTransaction) async throws {
    if topics.isEmpty { return }
    try await transaction.execute("SELECT notify_live(\(topics.map(\.text)))")
  }
}
