import Foundation
import LibPQClient

/// A celeb as one of its fans has registered it.
public struct FanCeleb: Sendable, Hashable {
  public let platform: CelebPlatform
  public let account: String
  public let title: String
  /// The address of a picture; nil if the platform has not provided one.
  public let thumbnail: String?
  public let url: String
  public let state: CelebState
  /// When the fan registered it.
  public let since: Date
  /// How many hearts the fan has given since.
  public let count: Int
  /// When the fan last gave a heart, even if before `since`.
  public let recent: Date?
  /// The fan's private note.
  public let note: String?
  /// The position in the fan's list, from 1.
  public let position: Int

  /// When the fan can give the next heart; nil if it is now.
  public func nextAt(now: Date) -> Date? {
    recent.map { $0 + Hearts.pause / .seconds(1) }.flatMap { $0 > now ? $0 : nil }
  }

  /// The columns that `init(row:)` reads, from the fan's celebs `f`, celebs `c` and their channels `k`.
  private static let columns = """
    c.platform, c.account, \(title), k.thumbnail, c.state, f.since, f.hearts, f.hearted_at, f.note, f.place
    """

  /// The title of a celeb `c` with the channel `k`: YouTube's title if the channel is stored, otherwise the account
  /// name. A fan cannot choose it, since every fan would see it.
  static let title = "coalesce(k.title, c.account)"
  static let channel = "LEFT JOIN channels k ON c.platform = 'youtube' AND k.id = c.account"

  /// A fan's celebs with their positions.
  static func rows(of fan: Int) -> PostgresQuery {
    """
    SELECT \(unescaped: columns) FROM (
      SELECT *, row_number() OVER (ORDER BY position, since, celeb_id) AS place
      FROM celeb_fans WHERE account_id = \(fan) AND since IS NOT NULL
    ) f JOIN celebs c ON c.id = f.celeb_id \(unescaped: channel)
    """
  }

  init(row: PostgresRow) throws {
    let account = try CelebAccount(platform: String(postgres: row[0]), account: String(postgres: row[1]))
    platform = account.platform
    self.account = account.name
    title = try String(postgres: row[2])
    thumbnail = try String?(postgres: row[3])
    url = account.url
    state = CelebState(rawValue: try String(postgres: row[4])) ?? .unchecked
    since = try Date(postgres: row[5])
    count = try Int(postgres: row[6])
    recent = try Date?(postgres: row[7])
    note = try String?(postgres: row[8])
    position = try Int(postgres: row[9])
  }
}
