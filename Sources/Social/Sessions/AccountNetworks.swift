import LibPQClient

/// From where an account was signed in to, for ninety days.
public enum AccountNetworks {
  /// How long a network is known after the last session that was opened from there, for SQL.
  static let lifetime = "interval '90 days'"

  /// Notes that an account's owner is there: who has signed in, signed up, or chosen a password by mail.
  public static func note(_ network: String, of account: Int, in transaction: PostgresTransaction) async throws {
    // Once a day at most: who signs in often writes no more.
    try await transaction.execute(
      """
      INSERT INTO account_networks AS known (account_id, network) VALUES (\(account), \(network))
      ON CONFLICT (account_id, network) DO UPDATE SET seen_at = excluded.seen_at
      WHERE known.seen_at < excluded.seen_at - interval '1 day'
      """)
  }

  /// Forgets what is too old.
  ///
  /// - Returns: how many, at most `limit`.
  @discardableResult
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM account_networks WHERE (account_id, network) IN (
        SELECT account_id, network FROM account_networks WHERE seen_at <= now() - \(unescaped: lifetime)
        ORDER BY seen_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
      """)
  }
}
