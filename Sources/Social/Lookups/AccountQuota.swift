import LibPQClient

/// What each account has asked of YouTube: a row for each account, Pacific day and budget.
///
/// A lookup is booked in the transaction that begins it. Kept answers and shared lookups cost their reader nothing.
enum AccountQuota {
  /// Books one lookup.
  ///
  /// One call is always allowed, however small the share. The row stays locked until the transaction ends: only other
  /// questions of the same account wait for it.
  ///
  /// - Returns: false if the account's share of the day is used up; then nothing is booked.
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
