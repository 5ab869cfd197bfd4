import LibPQClient

/// Parts of statements that leave out what an account is not to see.
///
/// Nothing is deleted to hide it: what is hidden stays where it is and is passed over when it is read. So it is gone for
/// all readers with the commit that hides it, and back as it was with the commit that restores it.
///
/// Each part looks up one row by its key. Without the `OFFSET 0` Postgres may read all of a table, or all whom a viewer is
/// kept from, and look among those.
enum Visibility {
  /// Whether `account`, a column, is there for everybody: neither suspended nor deleted.
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

  /// Whether a viewer is shown what `account`, a column, does: it is visible, and the viewer has not muted it.
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
  static func seesPost(_ viewer: Int?) -> PostgresQuery {
    "(p.taken_down_at IS NULL AND \(isVisible("p.author_id", to: viewer)))"
  }

  /// Whether a post `p` of the account `a` belongs into a viewer's feeds, unless that account is gone.
  static func showsPost(_ viewer: Int?) -> PostgresQuery { showsPost("\(viewer)") }

  /// - Parameter viewer: an expression.
  static func showsPost(_ viewer: PostgresQuery) -> PostgresQuery {
    "(p.taken_down_at IS NULL AND a.suspended_at IS NULL AND \(isNotKeptAway("p.author_id", from: viewer)))"
  }

  /// Whether a viewer is shown a comment `c`.
  static func showsComment(_ viewer: Int?) -> PostgresQuery {
    "(c.taken_down_at IS NULL AND \(isShown("c.account_id", to: viewer)))"
  }
}
