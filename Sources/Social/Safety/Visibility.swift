import LibPQClient

/// SQL conditions that hide content from accounts that may not see it.
///
/// Nothing is deleted to hide it: hidden rows stay in place, and reads skip them. So content disappears for all readers
/// with the commit that hides it, and reappears unchanged with the commit that restores it.
///
/// Each condition looks up one row by its key. Without the `OFFSET 0`, Postgres may read a whole table, or all of a
/// viewer's restrictions, and search those.
enum Visibility {
  /// Whether `account`, a column, is visible to everyone: neither suspended nor deleted.
  static func isPublic(_ account: String) -> PostgresQuery {
    "NOT EXISTS (SELECT FROM hidden_accounts hidden WHERE hidden.account_id = \(unescaped: account) OFFSET 0)"
  }

  /// Whether a viewer may see `account`, a column: it is public, and neither has blocked the other.
  static func isVisible(_ account: String, to viewer: Int?) -> PostgresQuery { isVisible(account, to: "\(viewer)") }

  /// - Parameter viewer: an expression.
  static func isVisible(_ account: String, to viewer: PostgresQuery) -> PostgresQuery {
    """
    (\(isPublic(account)) AND NOT EXISTS (
      SELECT FROM restrictions kept_away WHERE kept_away.account_id = \(viewer)
        AND kept_away.other_id = \(unescaped: account)
        AND (kept_away.blocked_at IS NOT NULL OR kept_away.is_blocked) OFFSET 0))
    """
  }

  /// Whether a viewer is shown the activity of `account`, a column: it is visible, and the viewer has not muted it.
  static func isShown(_ account: String, to viewer: Int?) -> PostgresQuery { isShown(account, to: "\(viewer)") }

  /// - Parameter viewer: an expression.
  static func isShown(_ account: String, to viewer: PostgresQuery) -> PostgresQuery {
    "(\(isPublic(account)) AND \(isNotKeptAway(account, from: viewer)))"
  }

  /// Whether `account` is neither blocked nor muted.
  private static func isNotKeptAway(_ account: String, from viewer: PostgresQuery) -> PostgresQuery {
    """
    NOT EXISTS (
      SELECT FROM restrictions kept_away WHERE kept_away.account_id = \(viewer)
        AND kept_away.other_id = \(unescaped: account) OFFSET 0)
    """
  }

  /// Whether a viewer may see a post `p`.
  static func seesPost(_ viewer: Int?) -> PostgresQuery { seesPost("\(viewer)") }

  /// - Parameter viewer: an expression.
  static func seesPost(_ viewer: PostgresQuery) -> PostgresQuery {
    "(p.taken_down_at IS NULL AND \(isVisible("p.author_id", to: viewer)))"
  }

  /// Whether a post `p` of the account `a` belongs in a viewer's feeds. The caller must check that the account exists.
  static func showsPost(_ viewer: Int?) -> PostgresQuery { showsPost("\(viewer)") }

  /// - Parameter viewer: an expression.
  static func showsPost(_ viewer: PostgresQuery) -> PostgresQuery {
    "(p.taken_down_at IS NULL AND \(showsAuthor(viewer)))"
  }

  /// Whether posts `p` of the account `a` belong in a viewer's feeds, apart from those taken down.
  ///
  /// - Parameter viewer: an expression.
  static func showsAuthor(_ viewer: PostgresQuery) -> PostgresQuery {
    "(a.suspended_at IS NULL AND \(isNotKeptAway("p.author_id", from: viewer)))"
  }

  /// Whether a viewer is shown a comment `c`.
  static func showsComment(_ viewer: Int?) -> PostgresQuery {
    "(c.taken_down_at IS NULL AND \(isShown("c.account_id", to: viewer)))"
  }
}
