import Foundation
import Postgres

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
  /// How many like it, exact up to `countLimit`, where counting ends.
  public let likes: Int
  /// How many comments it has, exact up to `countLimit`.
  public let comments: Int

  /// A counter row would be written by every like of a post that everybody likes, one after the other; counting this many
  /// entries of an index takes about a millisecond.
  public static let countLimit = 10_000

  /// What a statement selects for `init(row:)`, from posts `p` and their authors `a`.
  static let columns = """
    p.id, p.title, p.description, p.image, p.created_at, p.edited_at, a.id, a.username, a.name, a.major, a.avatar,
    (SELECT count(*) FROM (SELECT FROM likes WHERE likes.post_id = p.id LIMIT \(countLimit)) x),
    (SELECT count(*) FROM (SELECT FROM comments WHERE comments.post_id = p.id LIMIT \(countLimit)) x)
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
  public init(title: String, description: String = "", image: String? = nil) throws(SocialError) {
    try PostRules.check(title: title, description: description, image: image)
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
  public init(title: String? = nil, description: String? = nil, image: String?? = nil) throws(SocialError) {
    try PostRules.check(title: title, description: description, image: image ?? nil)
    self.title = title
    self.description = description
    self.image = image
  }
}

private enum PostRules {
  static func check(title: String?, description: String?, image: String?) throws(SocialError) {
    try FieldRules.text(title, "title", 1...200)
    if let title, title.allSatisfy(\.isWhitespace) { throw .invalid("title", "is not only spaces") }
    try FieldRules.text(description, "description", 0...20_000)
    try FieldRules.text(image, "image", 1...2048)
  }
}
