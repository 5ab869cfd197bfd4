import Foundation

/// A platform of celebs.
public struct Platform: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let youtube = Platform(rawValue: "youtube")
  public static let instagram = Platform(rawValue: "instagram")
}

/// Whether a celeb's account exists on its platform.
public struct CelebState: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  /// YouTube has not answered yet.
  public static let pending = CelebState(rawValue: "pending")
  public static let verified = CelebState(rawValue: "verified")
  /// YouTube has no such channel: it uses no place of the fan's and is in no ranking.
  public static let unknown = CelebState(rawValue: "unknown")
  /// The platform cannot be asked.
  public static let unchecked = CelebState(rawValue: "unchecked")
}

/// The account of a celeb on a platform: a channel id on YouTube, a username on Instagram.
public struct CelebAccount: Sendable, Hashable, Codable {
  public var platform: Platform
  public var account: String

  public init(_ platform: Platform, _ account: String) {
    self.platform = platform
    self.account = account
  }

  var path: [String] { [platform.rawValue, account] }
}

/// A celeb on the signed-in fan's list.
public struct Celeb: Sendable, Hashable, Codable {
  public var platform: Platform
  public var account: String
  public var title: String
  /// The URL of a picture.
  public var thumbnail: String?
  /// The URL of the account's page.
  public var url: String
  public var state: CelebState
  /// When the fan registered it.
  public var since: Date
  /// The fan's hearts since then.
  public var count: Int
  /// The fan's last heart; nil if there is none.
  public var recent: Date?
  /// When the next heart is possible; nil if it is now.
  public var nextAt: Date?
  /// Visible to the fan alone.
  public var note: String?
  /// The place in the fan's order, from 1.
  public var position: Int

  public init(
    platform: Platform, account: String, title: String, thumbnail: String? = nil, url: String, state: CelebState,
    since: Date, count: Int, recent: Date? = nil, nextAt: Date? = nil, note: String? = nil, position: Int
  ) {
    self.platform = platform
    self.account = account
    self.title = title
    self.thumbnail = thumbnail
    self.url = url
    self.state = state
    self.since = since
    self.count = count
    self.recent = recent
    self.nextAt = nextAt
    self.note = note
    self.position = position
  }

  public var celebAccount: CelebAccount { CelebAccount(platform, account) }
}

/// A celeb as everybody sees it.
public struct CelebProfile: Sendable, Hashable, Codable {
  /// Places in the rankings of one measure; nil where the celeb is not listed.
  public struct Ranks: Sendable, Hashable, Codable {
    public var day: Int?
    public var week: Int?
    public var month: Int?
    public var all: Int?

    public init(day: Int? = nil, week: Int? = nil, month: Int? = nil, all: Int? = nil) {
      self.day = day
      self.week = week
      self.month = month
      self.all = all
    }
  }

  public struct AllRanks: Sendable, Hashable, Codable {
    public var hearts: Ranks
    public var followers: Ranks

    public init(hearts: Ranks, followers: Ranks) {
      self.hearts = hearts
      self.followers = followers
    }
  }

  public var platform: Platform
  public var account: String
  public var title: String
  /// The URL of a picture.
  public var thumbnail: String?
  /// The URL of the account's page.
  public var url: String
  public var state: CelebState
  /// The fans that have it registered.
  public var followers: Int
  /// The hearts of all fans.
  public var hearts: Int
  public var ranks: AllRanks
  /// Whether the signed-in fan has it registered.
  public var isMine: Bool
  /// When the fan registered it; nil if it is not the fan's.
  public var since: Date?
  /// The fan's hearts since then; nil if it is not the fan's.
  public var count: Int?
  /// When the fan can give the next heart; nil if now, or if it is not the fan's.
  public var nextAt: Date?

  public init(
    platform: Platform, account: String, title: String, thumbnail: String? = nil, url: String, state: CelebState,
    followers: Int, hearts: Int, ranks: AllRanks, isMine: Bool, since: Date? = nil, count: Int? = nil,
    nextAt: Date? = nil
  ) {
    self.platform = platform
    self.account = account
    self.title = title
    self.thumbnail = thumbnail
    self.url = url
    self.state = state
    self.followers = followers
    self.hearts = hearts
    self.ranks = ranks
    self.isMine = isMine
    self.since = since
    self.count = count
    self.nextAt = nextAt
  }
}

extension FanmillClient {
  public var celebs: Celebs { Celebs(sender: sender) }

  /// `celebs` and `me/celebs`. Each call throws `unknown_platform` and `invalid_account` for an account that the
  /// platform cannot have.
  public struct Celebs: Sendable {
    let sender: RequestSender

    public func profile(_ celeb: CelebAccount) async throws -> CelebProfile {
      try await sender.value(APIRequest(.get, ["celebs"] + celeb.path))
    }

    /// The signed-in fan's celebs, in the fan's order.
    public func list() async throws -> [Celeb] { try await sender.items(APIRequest(.get, ["me", "celebs"])) }

    /// Registers a celeb. May be repeated.
    ///
    /// - Throws: `celeb_limit`.
    @discardableResult
    public func register(_ celeb: CelebAccount) async throws -> Celeb {
      try await sender.value(APIRequest(.put, ["me", "celebs"] + celeb.path))
    }

    /// Removes a celeb. May be repeated.
    public func remove(_ celeb: CelebAccount) async throws {
      try await sender.send(APIRequest(.delete, ["me", "celebs"] + celeb.path))
    }

    private struct Edit: Encodable {
      var note: String?
      var position: Int?
    }

    /// Changes the note or the place of a celeb.
    ///
    /// - Parameters:
    ///   - note: up to 500 characters; empty removes it; nil keeps it.
    ///   - position: from 1; nil keeps it.
    /// - Throws: `celeb_not_registered`, `invalid_note`, `invalid_position`.
    @discardableResult
    public func edit(_ celeb: CelebAccount, note: String? = nil, position: Int? = nil) async throws -> Celeb {
      try await sender.value(
        APIRequest(.patch, ["me", "celebs"] + celeb.path, body: Edit(note: note, position: position)))
    }

    /// Replaces a celeb by another in one step.
    ///
    /// - Throws: `celeb_not_registered`, `celeb_registered`, `celeb_limit`.
    @discardableResult
    public func replace(_ celeb: CelebAccount, by other: CelebAccount) async throws -> Celeb {
      try await sender.value(APIRequest(.post, ["me", "celebs"] + celeb.path + ["replace"], body: other))
    }
  }
}
