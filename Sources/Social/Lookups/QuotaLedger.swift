import Foundation
import LibPQClient

/// The quota that the keys have spent: one row per key, Pacific day and budget, written before a call and settled after
/// it.
///
/// A reservation is one conditional statement on the row, so racing workers together never spend more than the budget.
/// If a worker dies between reserving and settling, the reservation remains: the row then counts too much, never too
/// little.
struct QuotaLedger: Sendable {
  /// The part of a budget reserved for one call.
  struct Ticket: Sendable, Hashable {
    let key: YouTubeKey
    let day: PacificDay
    let budget: QuotaBudgets.Kind
    let cost: Int
    /// Whether its call tests if a budget that the service reported as spent is open again.
    var isProbe = false
  }

  /// A ticket and its outcome.
  struct Use: Sendable {
    let ticket: Ticket
    /// False for a call that was never sent: its part of the budget is returned.
    let isSpent: Bool
    /// Whether the service processed the request, which shows that the budget is open.
    var isServed = false
  }

  /// The result of a reservation.
  struct Grant: Sendable, Equatable {
    var count = 0
    var isProbe = false
  }

  /// The first pause before retrying a budget that the service reports as spent. Each further pause is twice as long,
  /// up to an hour.
  static let firstPause: TimeInterval = 60

  let pool: PostgresPool

  /// Reserves the cost of up to `count` calls of one key.
  ///
  /// - Returns: the number of calls reserved; none for a key that is disabled or whose budget is spent. If the service
  ///   reported the budget as spent and a retry is due, one call, a probe; other callers wait for its outcome.
  func reserve(
    _ count: Int, of key: YouTubeKey, _ price: (kind: QuotaBudgets.Kind, cost: Int), limit: Int, on day: PacificDay,
    at date: Date
  ) async throws -> Grant {
    let rows = try await pool.query(
      """
      INSERT INTO youtube_quota AS quota (key, day, budget, reserved, granted)
      SELECT \(key.label), \(day.description)::date, \(price.kind.rawValue), room, room
      FROM (SELECT \(price.cost) * least(\(count), \(limit) / \(price.cost)) AS room) new
      WHERE room > 0 AND NOT EXISTS (SELECT FROM youtube_keys WHERE label = \(key.label) AND disabled_at IS NOT NULL)
      ON CONFLICT (key, day, budget) DO UPDATE SET
        granted = \(price.cost) * least(CASE WHEN quota.is_spent_out THEN 1 ELSE \(count) END,
          (\(limit) - quota.reserved - quota.spent) / \(price.cost)),
        reserved = quota.reserved + \(price.cost) * least(CASE WHEN quota.is_spent_out THEN 1 ELSE \(count) END,
          (\(limit) - quota.reserved - quota.spent) / \(price.cost)),
        ask_again_at = CASE WHEN quota.is_spent_out THEN \(date.addingTimeInterval(Self.firstPause)) END
      WHERE (NOT quota.is_spent_out OR quota.ask_again_at <= \(date))
        AND quota.reserved + quota.spent + \(price.cost) <= \(limit)
      RETURNING granted, is_spent_out
      """)
    guard let row = rows.first else { return Grant() }
    let (granted, isProbe) = try row.decode(Int.self, Bool.self)
    return Grant(count: granted / price.cost, isProbe: isProbe)
  }

  /// Books what calls have spent and returns the rest. The rows stay locked until the transaction ends, so this should
  /// be its last statement.
  static func settle(_ uses: [Use], in transaction: PostgresTransaction) async throws {
    let statements = statements(settling: uses)
    try await transaction.pipeline(statements)
  }

  func settle(_ uses: [Use]) async throws {
    try await pool.pipeline(Self.statements(settling: uses))
  }

  /// One statement per row, in key order, so that no two transactions deadlock.
  private static func statements(settling uses: [Use]) -> [PostgresQuery] {
    struct Row: Hashable {
      let key: String
      let day: String
      let budget: QuotaBudgets.Kind
    }
    var sums: [Row: (reserved: Int, spent: Int)] = [:]
    var opened: Set<Row> = []
    for use in uses {
      let ticket = use.ticket
      let row = Row(key: ticket.key.label, day: ticket.day.description, budget: ticket.budget)
      sums[row, default: (0, 0)].reserved += ticket.cost
      if use.isSpent { sums[row, default: (0, 0)].spent += ticket.cost }
      if ticket.isProbe, use.isServed { opened.insert(row) }
    }
    return sums.sorted { ($0.key.key, $0.key.day, $0.key.budget) < ($1.key.key, $1.key.day, $1.key.budget) }
      .map { row, sum in
        """
        UPDATE youtube_quota SET reserved = greatest(0, reserved - \(sum.reserved)), spent = spent + \(sum.spent),
          is_spent_out = is_spent_out AND NOT \(opened.contains(row)),
          refusals = CASE WHEN \(opened.contains(row)) THEN 0 ELSE refusals END
        WHERE key = \(row.key) AND day = \(row.day)::date AND budget = \(row.budget.rawValue)
        """
      }
  }

  /// Records that the service reports a budget as spent.
  ///
  /// If half of it or more was used, the budget stays closed until midnight. If little was used, the service may not
  /// have begun the new day yet, or others use the key too: one call retries after a pause. Refusals of concurrent
  /// calls count once.
  func markSpentOut(_ ticket: Ticket, limit: Int, at date: Date) async throws {
    try await pool.execute(
      """
      INSERT INTO youtube_quota AS quota (key, day, budget, is_spent_out, refusals, ask_again_at)
      VALUES (\(ticket.key.label), \(ticket.day.description)::date, \(ticket.budget.rawValue), true, 1,
        \(date.addingTimeInterval(Self.firstPause)))
      ON CONFLICT (key, day, budget) DO UPDATE SET is_spent_out = true, refusals = quota.refusals + 1,
        ask_again_at = CASE WHEN 2 * quota.spent < \(limit)
          THEN \(date)::timestamptz
            + least(interval '1 hour', \(Self.firstPause) * power(2, least(quota.refusals, 10)) * interval '1 second')
          END
      WHERE NOT quota.is_spent_out OR \(ticket.isProbe)
      """)
  }

  /// Disables a key.
  ///
  /// - Returns: false if it was disabled already.
  func disable(_ key: YouTubeKey, reason: String, message: String, at date: Date) async throws -> Bool {
    try await pool.execute(
      """
      INSERT INTO youtube_keys AS known (label, disabled_at, reason, message)
      VALUES (\(key.label), \(date), \(reason), \(message))
      ON CONFLICT (label) DO UPDATE SET
        disabled_at = excluded.disabled_at, reason = excluded.reason, message = excluded.message
      WHERE known.disabled_at IS NULL
      """) == 1
  }

  /// What a set of keys has left of a day's budget, without reserving anything.
  enum Standing: Sendable, Equatable {
    case available
    /// Every working key has spent its budget; the next retry is at `until`.
    case spent(until: Date)
    /// No key is set, or all are disabled.
    case noKey
  }

  static func standing(
    _ rules: LookupRules, isSearch: Bool, on day: PacificDay, at date: Date, in reader: some SocialReader
  ) async throws -> Standing {
    let price = rules.budgets.price(isSearch: isSearch)
    let limit = rules.budgets.limit(of: price.kind)
    let rows = try await reader.rows(
      """
      SELECT CASE WHEN key IS NULL THEN \(price.cost) <= \(limit)
          ELSE reserved + spent + \(price.cost) <= \(limit) END,
        coalesce(is_spent_out, false), ask_again_at
      FROM unnest(\(rules.keys.map(\.label))) AS label
      LEFT JOIN youtube_quota ON key = label AND day = \(day.description)::date AND budget = \(price.kind.rawValue)
      WHERE NOT EXISTS (SELECT FROM youtube_keys known WHERE known.label = label.label AND disabled_at IS NOT NULL)
      """)
    let keys = try rows.decode(Bool.self, Bool.self, Date?.self)
    if keys.isEmpty { return .noKey }
    var until = day.end
    for (hasRoom, isSpentOut, askAgainAt) in keys where hasRoom {
      guard isSpentOut else { return .available }
      guard let askAgainAt else { continue }
      if askAgainAt <= date { return .available }
      until = min(until, askAgainAt)
    }
    return .spent(until: until)
  }
}
