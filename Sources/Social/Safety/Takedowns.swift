import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Hides content from all accounts, its author included, until it is restored exactly as it was.
/// `migrations/0048_takedowns.sql` describes how lists leave it out.
public enum Takedowns {
  /// Takes down a post, a comment or a picture, and notifies its author. Content that is already down is unchanged.
  ///
  /// - Parameter reason: 1 to 500 characters, shown to the author.
  /// - Throws: `invalid_reason`, `not_found`, `cannot_take_down` for accounts and messages.
  public static func takeDown(_ subject: Subject, because reason: String, in transaction: AppTransaction) async throws {
    try FieldRules.text(reason, "reason", 1...500)
    guard let (account, isNew) = try await change(subject, isDown: true, in: transaction.sql) else {
      throw SocialError.notFound(noun(subject))
    }
    guard isNew else { return }
    try await tell(subject, of: account, in: transaction)
    try await transaction.sql.execute(
      """
      INSERT INTO takedowns (subject, account_id, reason) VALUES (\(subject.description), \(account), \(reason))
      ON CONFLICT (subject) DO UPDATE SET reason = excluded.reason, taken_down_at = excluded.taken_down_at
      """)
    try await Notices.add(.takenDown, subject, because: reason, to: account, in: transaction)
  }

  /// Shows content again, and notifies its author. Content that is not down is unchanged.
  ///
  /// - Throws: the errors of `takeDown`.
  public static func restore(_ subject: Subject, because reason: String, in transaction: AppTransaction) async throws {
    try FieldRules.text(reason, "reason", 1...500)
    let changed = try await change(subject, isDown: false, in: transaction.sql)
    // The entry is deleted even if the author has deleted the content meanwhile.
    try await transaction.sql.execute("DELETE FROM takedowns WHERE subject = \(subject.description)")
    guard let (account, isNew) = changed else { throw SocialError.notFound(noun(subject)) }
    if isNew {
      try await tell(subject, of: account, in: transaction)
      try await Notices.add(.restored, subject, because: reason, to: account, in: transaction)
    }
  }

  /// Shows or hides the content for clients that have it open.
  private static func tell(_ subject: Subject, of account: Int, in transaction: AppTransaction) async throws {
    switch subject {
    case .post(let id): try await LiveTopic.notify([.gone(id)], in: transaction.sql)
    case .comment(let id, let post):
      let authors = try await transaction.sql.query("SELECT author_id FROM posts WHERE id = \(post)").decode(Int.self)
      guard let author = authors.first else { return }
      try await NotificationUpdate(comment: id, on: post, by: account, to: author).enqueue(in: transaction)
    case .account, .message, .picture, .agreement: break
    }
  }

  /// - Returns: the owner, and whether the state changed; nil if the subject does not exist.
  private static func change(
    _ subject: Subject, isDown: Bool, in transaction: PostgresTransaction
  ) async throws -> (account: Int, isNew: Bool)? {
    let (table, owner, row): (String, String, PostgresQuery) =
      switch subject {
      case .post(let id): ("posts", "author_id", "id = \(id)")
      case .comment(let id, let post): ("comments", "account_id", "post_id = \(post) AND id = \(id)")
      case .picture(let id): ("media", "owner_id", "id = \(id.text) AND owner_id IS NOT NULL")
      case .account, .message, .agreement:
        throw SocialError(
          .cannotTakeDown, "only posts, comments and pictures can be taken down; suspend an account instead")
      }
    let found = try await transaction.query(
      """
      SELECT \(unescaped: owner), taken_down_at IS NOT NULL FROM \(unescaped: table) WHERE \(row) FOR NO KEY UPDATE
      """
    ).decode(Int.self, Bool.self)
    guard let (account, wasDown) = found.first else { return nil }
    if wasDown == isDown { return (account, false) }
    try await transaction.execute(
      """
      UPDATE \(unescaped: table) SET taken_down_at = CASE WHEN \(isDown) THEN now() END WHERE \(row)
      """)
    return (account, true)
  }

  private static func noun(_ subject: Subject) -> String {
    switch subject {
    case .post: "post"
    case .comment: "comment"
    case .account: "account"
    case .message: "message"
    case .picture: "picture"
    case .agreement: "agreement"
    }
  }
}
