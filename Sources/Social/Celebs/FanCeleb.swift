import Foundation
import LibPQClient

/// A celeb as one of its fans has registered it.
public struct FanCeleb: Sendable, Hashable {
  public let platform: CelebPlatform
  public let account: String
  public let title: String
  public let url: String
  /// When the fan registered it.
  public let since: Date
  /// How many hearts the fan has given since.
  public let count: Int
  /// When the fan gave the last heart, before or after `since`.
  public let recent: Date?

  /// What a statement selects for `init(row:)`, from celebs `c` and their fans `f`.
  static let columns = "c.platform, c.account, \(title), f.since, f.hearts, f.hearted_at"

  /// What a celeb `c` is called: what YouTube says, if its channel is kept, else its account. A name that one fan gives
  /// would be shown to all of them.
  static let title = """
    coalesce((SELECT k.title FROM channels k WHERE c.platform = 'youtube' AND k.id = c.account), c.account)
    """

  init(row: PostgresRow) throws {
    let account = try CelebAccount(platform: String(postgres: row[0]), account: String(postgres: row[1]))
    platform = account.platform
    self.account = account.name
    title = try String(postgres: row[2])
    url = account.url
    since = try Date(postgres: row[3])
    count = try Int(postgres: row[4])
    recent = try Date?(postgres: row[5])
  }
}
