/// The platform of a celeb.
public enum CelebPlatform: String, Sendable, Hashable, CaseIterable {
  case youtube
  case instagram

  /// - Parameter name: the platform's name, or its number: 0 for YouTube, 1 for Instagram.
  /// - Throws: `unknown_platform`.
  public init(named name: String) throws(SocialError) {
    switch name {
    case "youtube", "0": self = .youtube
    case "instagram", "1": self = .instagram
    default: throw SocialError(.unknownPlatform, "platform must be youtube (0) or instagram (1)", field: "platform")
    }
  }
}

/// An account of a celeb on a platform, in a form that the platform allows.
public struct CelebAccount: Sendable, Hashable {
  public let platform: CelebPlatform
  /// A channel id on YouTube; a lowercase username on Instagram.
  public let name: String

  /// - Throws: `unknown_platform`, `invalid_account`.
  public init(platform: String, account: String) throws(SocialError) {
    try self.init(CelebPlatform(named: platform), account)
  }

  /// - Throws: `invalid_account`.
  public init(_ platform: CelebPlatform, _ account: String) throws(SocialError) {
    let bytes = account.utf8
    switch platform {
    case .youtube:
      guard bytes.count == 24, account.hasPrefix("UC"), bytes.allSatisfy({ Self.isPlain($0) || $0 == 0x2D }) else {
        throw .invalid("account", "must be a YouTube channel's id: 'UC' and 22 letters, digits, '-' or '_'")
      }
      name = account
    case .instagram:
      let dots = account.hasPrefix(".") || account.hasSuffix(".") || account.contains("..")
      guard (1...30).contains(bytes.count), !dots, bytes.allSatisfy({ Self.isPlain($0) || $0 == 0x2E }) else {
        throw .invalid(
          "account",
          "must be an Instagram username: 1 to 30 letters, digits, '_' or '.', no '.' at either end and no two in a row"
        )
      }
      // Instagram ignores case.
      name = account.lowercased()
    }
    self.platform = platform
  }

  /// The account's page.
  public var url: String { Self.url(of: name, on: platform) }

  public static func url(of name: String, on platform: CelebPlatform) -> String {
    switch platform {
    case .youtube: "https://www.youtube.com/channel/\(name)"
    case .instagram: "https://www.instagram.com/\(name)/"
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x5F
  }
}
