import Foundation
import LibPQClient

/// A YouTube channel as stored here.
public struct Channel: Hashable, Sendable {
  /// `UC…`.
  public let id: String
  /// The display title.
  public let title: String
  /// With its `@`; nil if unknown, as after a search.
  public let handle: String?
  /// The address of a picture.
  public let thumbnail: String?
  public let publishedAt: Date?
  /// nil if hidden or unknown. It helps users tell channels apart; no ranking uses it.
  public let subscribers: Int?

  public init(
    id: String, title: String, handle: String? = nil, thumbnail: String? = nil, publishedAt: Date? = nil,
    subscribers: Int? = nil
  ) {
    self.id = id
    self.title = title
    self.handle = handle
    self.thumbnail = thumbnail
    self.publishedAt = publishedAt
    self.subscribers = subscribers
  }

  /// The address of the channel's page.
  public var url: String { "https://www.youtube.com/channel/\(id)" }

  /// The columns that `init(row:)` reads, from channels `c`.
  static let columns = "c.id, c.title, c.handle, c.thumbnail, c.published_at, c.subscribers"

  init(row: PostgresRow, from column: Int = 0) throws(PostgresError) {
    id = try String(postgres: row[column])
    title = try String(postgres: row[column + 1])
    handle = try String?(postgres: row[column + 2])
    thumbnail = try String?(postgres: row[column + 3])
    publishedAt = try Date?(postgres: row[column + 4])
    subscribers = try Int?(postgres: row[column + 5])
  }
}
