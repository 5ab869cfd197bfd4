import Foundation
import LibPQClient

/// A comment on a post.
public struct Comment: Sendable, Hashable {
  /// Increases over time.
  public let id: Int
  public let author: AccountSummary
  public let text: String
  public let createdAt: Date

  /// The columns that `init(row:)` reads, from comments `c` and their authors `a`.
  static let columns = "c.id, c.text, c.created_at, \(AccountSummary.columns)"

  init(id: Int, author: AccountSummary, text: String, createdAt: Date) {
    self.id = id
    self.author = author
    self.text = text
    self.createdAt = createdAt
  }

  init(row: PostgresRow) throws(PostgresError) {
    id = try Int(postgres: row[0])
    text = try String(postgres: row[1])
    createdAt = try Date(postgres: row[2])
    author = try AccountSummary(row: row, at: 3)
  }
}

/// A new comment, validated on creation.
public struct CommentDraft: Sendable, Hashable {
  public let text: String

  /// - Throws: `invalid_text`.
  public init(text: String) throws(SocialError) {
    try FieldRules.said(text)
    self.text = text
  }
}
