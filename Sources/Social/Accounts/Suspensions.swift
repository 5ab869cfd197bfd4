import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Closes accounts to their owners, and opens them again.
public enum Suspensions {
  /// Ends an account's sessions, lets nobody sign in to it, and hides it and all that it wrote. Its owner is told.
  ///
  /// - Parameter reason: 1 to 500 characters, which the owner reads.
  /// - Throws: `invalid_reason`.
  public static func suspend(_ account: Int, because reason: String, in transaction: AppTransaction) async throws {
    try FieldRules.text(reason, "reason", 1...500)
    let sql = transaction.sql
    // Whoever opens a session holds a lock on the account's row: it comes before this, and ends below, or finds it
    // suspended.
    let wasOpen = try await sql.query(
      "SELECT suspended_at IS NULL FROM accounts WHERE id = \(account) FOR NO KEY UPDATE"
    ).decode(Bool.self).first
    try await sql.pipeline([
      "UPDATE accounts SET suspended_at = coalesce(suspended_at, now()), suspension_reason = \(reason) WHERE id = \(account)",
      "DELETE FROM sessions WHERE account_id = \(account)",
    ])
    try await PasswordResets.endAll(of: account, in: sql)
    if wasOpen == true {
      try await LiveTopic.notify([.hidden], in: sql)
      try await Notices.add(.suspended, .account(account), because: reason, to: account, in: transaction)
    }
  }

  /// Lets its owner sign in again, and shows what it wrote as before.
  ///
  /// - Parameter reason: 1 to 500 characters, which the owner reads.
  /// - Throws: `invalid_reason`.
  public static func restore(_ account: Int, because reason: String, in transaction: AppTransaction) async throws {
    try FieldRules.text(reason, "reason", 1...500)
    let opened = try await transaction.sql.execute(
      """
      UPDATE accounts SET suspended_at = NULL, suspension_reason = NULL
      WHERE id = \(account) AND suspended_at IS NOT NULL
      """)
    if opened == 1 {
      try await Notices.add(.reopened, .account(account), because: reason, to: account, in: transaction)
    }
  }
}
