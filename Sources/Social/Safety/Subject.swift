/// The subject of a report, a takedown or a notice.
public enum Subject: Sendable, Hashable, CustomStringConvertible {
  case post(Int)
  case comment(Int, post: Int)
  case account(Int)
  case message(Int)
  case picture(MediaID)
  case agreement(Int)

  /// `post/12`, `comment/12/34` (34, of post 12), `account/5`, `message/77`, `picture/ID`, `agreement/8`.
  public var description: String {
    switch self {
    case .post(let id): "post/\(id)"
    case .comment(let id, let post): "comment/\(post)/\(id)"
    case .account(let id): "account/\(id)"
    case .message(let id): "message/\(id)"
    case .picture(let id): "picture/\(id)"
    case .agreement(let id): "agreement/\(id)"
    }
  }

  /// - Returns: nil if the text does not describe a subject.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let ids = parts.dropFirst().map { EntityID.parse($0) }
    switch (parts.first, ids.count, ids.first ?? nil, ids.last ?? nil) {
    case ("post", 1, let id?, _): self = .post(id)
    case ("comment", 2, let post?, let id?): self = .comment(id, post: post)
    case ("account", 1, let id?, _): self = .account(id)
    case ("message", 1, let id?, _): self = .message(id)
    case ("agreement", 1, let id?, _): self = .agreement(id)
    case ("picture", 1, _, _):
      guard let id = MediaID(String(parts[1])) else { return nil }
      self = .picture(id)
    default: return nil
    }
  }
}
