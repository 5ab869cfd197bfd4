import Foundation
import LibPQClient

/// A post with its author.
public struct Post: Sendable, Hashable {
  /// Increases over time, and stays below 2⁵³.
  public let id: Int
  public let author: AccountSummary
  public let title: String
  public let description: String
  /// In the author's order.
  public let media: [ShownMedia]
  /// The address of an external picture, from before pictures were stored here.
  public let image: String?
  public let createdAt: Date
  /// nil if it was never edited.
  public let editedAt: Date?
  /// How many accounts like it.
  public let likes: Int
  /// How many comments it has.
  public let comments: Int
  /// Whether the viewer likes it.
  public private(set) var isLiked: Bool
  /// Whether the viewer wrote it.
  public private(set) var isMine: Bool

  /// The columns that `init(row:seenBy:)` reads, from posts `p` and their authors `a`; the next column is whether the
  /// viewer likes the post.
  static let columns = """
    p.id, p.title, p.description, p.image, p.created_at, p.edited_at, \(AccountSummary.columns), p.media, p.media_dimensions,
    ARRAY(SELECT (kept.likes << 32) + kept.comments FROM post_counts kept WHERE kept.post_id = p.id)
    """

  /// A row of a list. After whether the viewer likes the post come whether the viewer is shown it, and the list's
  /// cursor, unless that is the post's id. A deleted post leaves the other columns null.
  static func listed(row: PostgresRow, seenBy viewer: Int) throws -> Page<Post>.Row {
    let isShown = try !row[0].isNull && !row[6].isNull && Bool(postgres: row[15])
    return (try Int(postgres: row[row.count > 16 ? 16 : 0]), isShown ? try Post(row: row, seenBy: viewer) : nil)
  }

  init(row: PostgresRow, seenBy viewer: Int) throws(PostgresError) {
    try self.init(row: row, isLiked: Bool(postgres: row[14]), seenBy: viewer)
  }

  /// - Parameter row: does not need the column for whether the viewer likes the post.
  init(row: PostgresRow, isLiked: Bool, seenBy viewer: Int) throws(PostgresError) {
    id = try Int(postgres: row[0])
    title = try String(postgres: row[1])
    description = try String(postgres: row[2])
    image = try String?(postgres: row[3])
    createdAt = try Date(postgres: row[4])
    editedAt = try Date?(postgres: row[5])
    author = try AccountSummary(row: row, at: 6)
    media = ShownMedia.list(try [String](postgres: row[11]), try [Int32](postgres: row[12]))
    // One number per shard, with the likes above 32 bits of comments. Adding them up here costs Postgres less time than
    // an aggregate.
    let counts = try [Int](postgres: row[13])
    likes = counts.reduce(0) { $0 + ($1 >> 32) }
    comments = counts.reduce(0) { $0 + ($1 & 0xffff_ffff) }
    self.isLiked = isLiked
    isMine = author.id == viewer
  }

  /// The same post as another account sees it.
  func seen(by viewer: Int, isLiked: Bool) -> Post {
    var post = self
    post.isLiked = isLiked
    post.isMine = author.id == viewer
    return post
  }
}

/// A new post, validated on creation.
public struct PostDraft: Sendable, Hashable {
  public let title: String
  public let description: String
  /// At most 10, in display order.
  public let media: [MediaID]

  /// - Throws: `invalid_title`, `invalid_description`, `invalid_media`, `use_media`.
  public init(title: String, description: String = "", media: [String] = []) throws(SocialError) {
    try PostRules.check(title: title, description: description)
    self.title = title
    self.description = description
    self.media = try MediaReference.list(media)
  }
}

/// An author's changes to a post; nil leaves a field unchanged.
public struct PostChanges: Sendable {
  public let title: String?
  public let description: String?
  /// Replaces all of the post's pictures.
  public let media: [MediaID]?

  /// - Throws: `invalid_title`, `invalid_description`, `invalid_media`, `use_media`.
  public init(title: String? = nil, description: String? = nil, media: [String]? = nil) throws(SocialError) {
    try PostRules.check(title: title, description: description)
    self.title = title
    self.description = description
    self.media = if let media { try MediaReference.list(media) } else { nil }
  }
}

private enum PostRules {
  static func check(title: String?, description: String?) throws(SocialError) {
    try FieldRules.text(title, "title", 1...200)
    if let title, title.allSatisfy(\.isWhitespace) { throw .invalid("title", "must not be blank") }
    try FieldRules.text(description, "description", 0...20_000)
  }
}
