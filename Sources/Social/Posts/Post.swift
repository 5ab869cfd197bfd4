import Foundation
import LibPQClient

/// A post with its author.
public struct Post: Sendable, Hashable {
  /// Grows with time, and stays below 2⁵³.
  public let id: Int
  public let author: AccountSummary
  public let title: String
  public let description: String
  public let image: String?
  public let createdAt: Date
  /// nil if it was never edited.
  public let editedAt: Date?
  /// How many like it.
  public let likes: Int
  /// How many comments it has.
  public let comments: Int

  /// What a statement selects for `init(row:)`, from posts `p` and their authors `a`.
  static let columns = """
    p.id, p.title, p.description, p.image, p.created_at, p.edited_at, a.id, a.username, a.name, a.major, a.avatar,
    (SELECT coalesce(sum(kept.likes), 0)::bigint FROM post_counts kept WHERE kept.post_id = p.id),
    (SELECT coalesce(sum(kept.comments), 0)::bigint FROM post_counts kept WHERE kept.post_id = p.id)
    """

  init(row: PostgresRow) throws(PostgresError) {
    id = try Int(postgres: row[0])
    title = try String(postgres: row[1])
    description = try String(postgres: row[2])
    image = try String?(postgres: row[3])
    createdAt = try Date(postgres: row[4])
    editedAt = try Date?(postgres: row[5])
    author = AccountSummary(
      id: try Int(postgres: row[6]), username: try String(postgres: row[7]), name: try String(postgres: row[8]),
      major: try String(postgres: row[9]), avatar: try String?(postgres: row[10]))
    likes = try Int(postgres: row[11])
    comments = try Int(postgres: row[12])
  }
}

/// What somebody posts. Checked when it is made.
public struct PostDraft: Sendable, Hashable {
  public let title: String
  public let description: String
  /// The address of a picture.
  public let image: String?

  /// - Throws: `invalid_title`, `invalid_description`, `invalid_image`.
  public init(
    title: String, description: String = "", image: String? = nil, addresses: WebAddressRule = .https
  ) throws(SocialError) {
    try PostRules.check(title: title, description: description)
    try addresses.check(image, "image")
    self.title = title
    self.description = description
    self.image = image
  }
}

/// What an author changes of a post; nil leaves a field as it is.
public struct PostChanges: Sendable {
  public let title: String?
  public let description: String?
  /// `.some(nil)` takes the picture away.
  public let image: String??

  /// - Throws: `invalid_title`, `invalid_description`, `invalid_image`.
  public init(
    title: String? = nil, description: String? = nil, image: String?? = nil, addresses: WebAddressRule = .https
  ) throws(SocialError) {
    try PostRules.check(title: title, description: description)
    try addresses.check(image ?? nil, "image")
    self.title = title
    self.description = description
    self.image = image
  }
}

private enum PostRules {
  static func check(title: String?, description: String?) throws(SocialError) {
    try FieldRules.text(title, "title", 1...200)
    if let title, title.allSatisfy(\.isWhitespace) { throw .invalid("title", "is not only spaces") }
    try FieldRules.text(description, "description", 0...20_000)
  }
}
