import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Suspends accounts and restores them.
public enum Suspensions {
  /// Ends an account's sessions, blocks sign-in, and hides the account and everything it wrote. Notifies the owner.
  ///
  /// - Parameter reason: 1 to 500 characters, shown to the owner.
  /// - Throws: `invalid_reason`.
  public static func suspend(_ account: Int, because reason: String, in transaction: AppTransaction) async throws {
    try FieldRules.text(reason, "reason", 1...500)
    let sql = transaction.sql
    // Opening a session locks the account's row: such a session either exists by now and is deleted below, or its
    // transaction finds the account suspended.
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

  /// Lets the owner sign in again, and shows everything the account wrote as before.
  ///
  /// - Parameter reason: 1 to 500 characters, shown to the owner.
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
