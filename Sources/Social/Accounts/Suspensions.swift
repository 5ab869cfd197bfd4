import LibPQClient

/// Closes accounts to their owners, and opens them again.
public enum Suspensions {
  /// Ends an account's sessions and lets nobody sign in to it. Its posts stay.
  ///
  /// - Parameter reason: 1 to 500 characters, for operators.
  /// - Throws: `invalid_reason`.
  public static func suspend(_ account: Int, because reason: String, in transaction: PostgresTransaction) async throws {
    try FieldRules.text(reason, "reason", 1...500)
    // Whoever opens a session holds a lock on the account's row: it comes before this, and ends below, or finds it
    // suspended.
    try await transaction.pipeline([
      "UPDATE accounts SET suspended_at = coalesce(suspended_at, now()), suspension_reason = \(reason) WHERE id = \(account)",
      "DELETE FROM sessions WHERE account_id = \(account)",
    ])
    try await PasswordResets.endAll(of: account, in: transaction)
  }

  /// Lets its owner sign in again.
  public static func restore(_ account: Int, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      "UPDATE accounts SET suspended_at = NULL, suspension_reason = NULL WHERE id = \(account)")
  }
}
