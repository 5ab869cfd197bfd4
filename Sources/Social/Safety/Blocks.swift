import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Blocks and mutes accounts. `migrations/0047_restrictions.sql` describes what each hides.
public enum Blocks {
  /// Hides two accounts from each other, and ends the follows between them. An existing block is unchanged.
  ///
  /// - Throws: `cannot_block_yourself`.
  public static func block(_ other: Int, by account: Int, in transaction: AppTransaction) async throws {
    try check(other, account)
    try await transaction.sql.pipeline([
      // A pending follow finishes first; a later one finds the block.
      """
      SELECT pg_advisory_xact_lock(posts_lock(id)) FROM unnest(\([account, other].sorted())) AS id
      """,
      """
      INSERT INTO restrictions AS kept (account_id, other_id, blocked_at, is_blocked)
      SELECT pair.account_id, pair.other_id, pair.blocked_at, pair.is_blocked FROM (VALUES
        (\(account)::bigint, \(other)::bigint, clock_timestamp(), false), (\(other), \(account), NULL, true)
      ) AS pair (account_id, other_id, blocked_at, is_blocked)
      WHERE (SELECT count(*) FROM accounts WHERE id IN (\(account), \(other))) = 2
      ORDER BY pair.account_id
      ON CONFLICT (account_id, other_id) DO UPDATE SET blocked_at = coalesce(kept.blocked_at, excluded.blocked_at),
        is_blocked = kept.is_blocked OR excluded.is_blocked
      """,
    ])
    for (followee, follower) in [(other, account), (account, other)].sorted(by: { $0.0 < $1.0 }) {
      try await Follows.unfollow(followee, by: follower, in: transaction)
    }
    try await LiveTopic.notify([.restrictions(of: account), .restrictions(of: other)], in: transaction.sql)
  }

  /// Ends a block. A block by the other account remains, and follows stay ended.
  public static func unblock(_ other: Int, by account: Int, in transaction: AppTransaction) async throws {
    // Locks rows in key order, like `block`.
    try await transaction.sql.pipeline([
      """
      SELECT FROM restrictions WHERE (account_id, other_id) IN ((\(account), \(other)), (\(other), \(account)))
      ORDER BY account_id FOR UPDATE
      """,
      """
      DELETE FROM restrictions WHERE (account_id, other_id) IN ((\(account), \(other)), (\(other), \(account)))
        AND CASE account_id WHEN \(account) THEN NOT is_blocked AND muted_at IS NULL
          ELSE blocked_at IS NULL AND muted_at IS NULL END
      """,
      "UPDATE restrictions SET blocked_at = NULL WHERE account_id = \(account) AND other_id = \(other)",
      "UPDATE restrictions SET is_blocked = false WHERE account_id = \(other) AND other_id = \(account)",
    ])
  }

  /// Hides another account's activity from an account's feeds, threads and notifications. The other account is not
  /// notified.
  ///
  /// - Throws: `cannot_block_yourself`.
  public static func mute(_ other: Int, by account: Int, in transaction: PostgresTransaction) async throws {
    try check(other, account)
    try await transaction.execute(
      """
      INSERT INTO restrictions AS kept (account_id, other_id, muted_at)
      SELECT \(account), id, clock_timestamp() FROM accounts WHERE id = \(other)
        AND EXISTS (SELECT FROM accounts WHERE id = \(account))
      ON CONFLICT (account_id, other_id) DO UPDATE SET muted_at = coalesce(kept.muted_at, excluded.muted_at)
      """)
  }

  /// Ends a mute.
  public static func unmute(_ other: Int, by account: Int, in transaction: PostgresTransaction) async throws {
    try await transaction.pipeline([
      // Both statements see the row as a racing `unblock` leaves it.
      "SELECT FROM restrictions WHERE account_id = \(account) AND other_id = \(other) FOR UPDATE",
      """
      DELETE FROM restrictions WHERE account_id = \(account) AND other_id = \(other)
        AND blocked_at IS NULL AND NOT is_blocked
      """,
      "UPDATE restrictions SET muted_at = NULL WHERE account_id = \(account) AND other_id = \(other)",
    ])
  }

  /// The kind of restriction to list.
  public enum Kind: String, Sendable {
    case blocked
    case muted
  }

  /// A page of the accounts that an account has blocked or muted, newest first. The cursor is the time, in microseconds
  /// since 1970.
  ///
  /// Of accounts that have blocked the reader, mutes are left out and blocks are unnamed: `id` takes their `~ID`.
  public static func list(
    _ kind: Kind, by account: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<RestrictedAccount> {
    let (column, condition): (String, PostgresQuery) =
      switch kind {
      case .blocked: ("blocked_at", "true")
      case .muted: ("muted_at", "NOT r.is_blocked")
      }
    // Includes suspended accounts, so that an account can see every block it has made.
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: AccountSummary.columns), to_microseconds(r.\(unescaped: column)), r.\(unescaped: column),
        r.is_blocked
      FROM restrictions r JOIN accounts a ON a.id = r.other_id
      WHERE r.account_id = \(account) AND \(condition)
        AND r.\(unescaped: column) < from_microseconds(\(min(page.cursor, lastMicrosecond)))
      ORDER BY r.\(unescaped: column) DESC LIMIT \(page.limit + 1)
      """)
    let found = try rows.map { row in
      let other = try AccountSummary(row: row)
      let isNamed = try !Bool(postgres: row[7])
      return (
        cursor: try Int(postgres: row[5]),
        item: RestrictedAccount(
          account: isNamed ? other : .unnamed(other.id, "hidden account"), since: try Date(postgres: row[6]))
      )
    }
    return Page(found, limit: page.limit, cursor: \.cursor).map(\.item)
  }

  /// In the year 3000.
  private static let lastMicrosecond = 32_503_680_000_000_000

  /// The id of an account to block or mute, even if it is already hidden: by its username, or as `list` names it.
  ///
  /// - Throws: `not_found`, `AccountMoved`.
  public static func id(of name: String, for account: Int, in reader: some SocialReader) async throws -> Int {
    if let id = AccountSummary.unnamedID(name) {
      let rows = try await reader.rows(
        """
        SELECT FROM restrictions WHERE account_id = \(account) AND other_id = \(id) AND blocked_at IS NOT NULL
        """)
      if rows.isEmpty { throw SocialError.notFound("account") }
      return id
    }
    do {
      return try await Accounts.id(of: name, in: reader)
    } catch let moved as AccountMoved {
      // Its new name is not for those whom it has blocked.
      let id = try await Accounts.id(of: moved.to, in: reader)
      let rows = try await reader.rows(
        "SELECT FROM restrictions WHERE account_id = \(account) AND other_id = \(id) AND is_blocked")
      throw rows.isEmpty ? moved as any Error : SocialError.notFound("account")
    }
  }

  private static func check(_ other: Int, _ account: Int) throws {
    guard other != account else {
      throw SocialError(.cannotBlockYourself, "an account cannot block or mute itself")
    }
  }
}

/// An account that another has blocked or muted.
public struct RestrictedAccount: Sendable, Hashable {
  public let account: AccountSummary
  /// When it was blocked or muted.
  public let since: Date
}
