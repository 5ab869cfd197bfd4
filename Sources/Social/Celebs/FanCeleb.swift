import Foundation
import Postgres

/// A celeb as one of its fans has registered it.
public struct FanCeleb: Sendable, Hashable {
  public let platform: CelebPlatform
  public let account: String
  public let title: String?
  public let url: String
  /// When the fan registered it.
  public let since: Date
  /// How many hearts the fan has given since.
  public let count: Int
  /// When the fan gave the last heart, before or after `since`.
  public let recent: Date?

  /// What a statement selects for `init(row:)`, from celebs `c` and their fans `f`.
  static let columns = "c.platform, c.account, \(title), c.url, f.since, f.hearts, f.hearted_at"

  /// What a celeb `c` is called: what YouTube says, if its channel is kept, goes before what fans say.
  static let title = """
    coalesce((SELECT k.title FROM channels k WHERE c.platform = 'youtube' AND k.id = c.account), c.title)
    """

  init(row: PostgresRow) throws {
    let account = try CelebAccount(platform: String(postgres: row[0]), account: String(postgres: row[1]))
    platform = account.platform
    self.account = account.name
    title = try String?(postgres: row[2])
    url = try String?(postgres: row[3]) ?? account.url
    since = try Date(postgres: row[4])
    count = try Int(postgres: row[5])
    recent = try Date?(postgres: row[6])
  }
}

/// What a fan may say about a celeb. Checked when it is made.
public struct CelebDraft: Sendable, Hashable {
  public let title: String?
  public let url: String?

  /// - Throws: `invalid_title`, `invalid_url`.
  public init(title: String? = nil, url: String? = nil) throws(SocialError) {
    try FieldRules.text(title, "title", 1...200)
    try FieldRules.text(url, "url", 1...2048)
    if let url {
      let parts = URLComponents(string: url)
      guard let scheme = parts?.scheme?.lowercased(), ["http", "https"].contains(scheme), parts?.host?.isEmpty == false
      else { throw .invalid("url", "is an address that begins with https:// or http://") }
    }
    self.title = title
    self.url = url
  }
}
