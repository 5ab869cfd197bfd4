import LibPQClient

/// The YouTube quota that each account has used: one row per account, Pacific day and budget.
///
/// A lookup is booked in the transaction that begins it. Stored answers and shared lookups cost the reader nothing.
enum AccountQuota {
  /// Books one lookup.
  ///
  /// One call is always allowed, however small the share. The row is locked until the transaction ends; only the same
  /// account's lookups wait for it.
  ///
  /// - Returns: false if the account's daily share is used up; then nothing is booked.
  static func book(
    _ account: Int, isSearch: Bool, _ rules: LookupRules, on day: PacificDay, in transaction: PostgresTransaction
  ) async throws -> Bool {
    let price = rules.budgets.price(isSearch: isSearch)
    let percent = rules.accountPercent * rules.budgets.limit(of: price.kind)
    return try await transaction.execute(
      """
      INSERT INTO youtube_account_quota AS quota (account_id, day, budget, booked)
      VALUES (\(account), \(day.description)::date, \(price.kind.rawValue), \(price.cost))
      ON CONFLICT (account_id, day, budget) DO UPDATE SET booked = quota.booked + \(price.cost)
      WHERE quota.booked + \(price.cost) <= \(percent) * (
        SELECT count(*) FROM unnest(\(rules.keys.map(\.label))) AS label
        WHERE NOT EXISTS (SELECT FROM youtube_keys known WHERE known.label = label.label AND disabled_at IS NOT NULL)
      ) / 100
      """) == 1
  }
}
