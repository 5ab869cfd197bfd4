import LibPQClient

/// The networks that each account has signed in from within ninety days.
public enum AccountNetworks {
  /// How long a network is remembered after the last session opened from it, for SQL.
  static let lifetime = "interval '90 days'"

  /// Records the network of an account's owner after a sign-in, a sign-up or a password reset by mail.
  public static func note(_ network: String, of account: Int, in transaction: PostgresTransaction) async throws {
    // At most once a day, so that frequent sign-ins cause no extra writes.
    try await transaction.execute(
      """
      INSERT INTO account_networks AS known (account_id, network) VALUES (\(account), \(network))
      ON CONFLICT (account_id, network) DO UPDATE SET seen_at = excluded.seen_at
      WHERE known.seen_at < excluded.seen_at - interval '1 day'
      """)
  }

  /// Deletes networks not seen within the lifetime.
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
