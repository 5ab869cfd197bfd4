import Foundation
import Postgres

/// What the keys have spent: a row for each key, Pacific day and budget, written before a call and settled after it.
///
/// A reservation is one conditional statement on the row, so that racing workers together never spend more than the budget.
/// Who dies between the reservation and the settling leaves it reserved: the row then counts too much, never too little.
struct QuotaLedger: Sendable {
  /// A part of a budget that is set aside for one call.
  struct Ticket: Sendable, Hashable {
    let key: YouTubeKey
    let day: PacificDay
    let budget: QuotaBudgets.Kind
    let cost: Int
  }

  /// A ticket and what became of it.
  struct Use: Sendable {
    let ticket: Ticket
    /// False for a call that never left: its part of the budget is given back.
    let isSpent: Bool
  }

  let pool: PostgresPool

  /// Sets aside the cost of up to `count` calls of one key.
  ///
  /// - Returns: how many there was room for; 0 for a key that is disabled or whose budget is spent.
  func reserve(
    _ count: Int, of key: YouTubeKey, _ price: (kind: QuotaBudgets.Kind, cost: Int), limit: Int, on day: PacificDay
  ) async throws -> Int {
    let rows = try await pool.query(
      """
      INSERT INTO youtube_quota AS quota (key, day, budget, reserved, granted)
      SELECT \(key.label), \(day.description)::date, \(price.kind.rawValue), room, room
      FROM (SELECT \(price.cost) * least(\(count), \(limit) / \(price.cost)) AS room) new
      WHERE room > 0 AND NOT EXISTS (SELECT FROM youtube_keys WHERE label = \(key.label) AND disabled_at IS NOT NULL)
      ON CONFLICT (key, day, budget) DO UPDATE SET
        granted = \(price.cost) * least(\(count), (\(limit) - quota.reserved - quota.spent) / \(price.cost)),
        reserved = quota.reserved
          + \(price.cost) * least(\(count), (\(limit) - quota.reserved - quota.spent) / \(price.cost))
      WHERE NOT quota.is_spent_out AND quota.reserved + quota.spent + \(price.cost) <= \(limit)
      RETURNING granted
      """)
    guard let row = rows.first else { return 0 }
    return try row.decode(Int.self) / price.cost
  }

  /// Books what calls have spent and gives back what they have not. The rows are locked until the transaction ends: it
  /// should be its last statement.
  static func settle(_ uses: [Use], in transaction: PostgresTransaction) async throws {
    let statements = statements(settling: uses)
    try await transaction.pipeline(statements)
  }

  func settle(_ uses: [Use]) async throws {
    try await pool.pipeline(Self.statements(settling: uses))
  }

  /// One a row, in the order of the rows' keys, so that no two transactions wait for each other.
  private static func statements(settling uses: [Use]) -> [PostgresQuery] {
    struct Row: Hashable {
      let key: String
      let day: String
      let budget: QuotaBudgets.Kind
    }
    var sums: [Row: (reserved: Int, spent: Int)] = [:]
    for use in uses {
      let ticket = use.ticket
      let row = Row(key: ticket.key.label, day: ticket.day.description, budget: ticket.budget)
      sums[row, default: (0, 0)].reserved += ticket.cost
      if use.isSpent { sums[row, default: (0, 0)].spent += ticket.cost }
    }
    return sums.sorted { ($0.key.key, $0.key.day, $0.key.budget) < ($1.key.key, $1.key.day, $1.key.budget) }
      .map { row, sum in
        """
        UPDATE youtube_quota SET reserved = greatest(0, reserved - \(sum.reserved)), spent = spent + \(sum.spent)
        WHERE key = \(row.key) AND day = \(row.day)::date AND budget = \(row.budget.rawValue)
        """
      }
  }

  /// Notes that the service itself calls a budget spent, whatever was counted here: others use the key too.
  func markSpentOut(_ ticket: Ticket) async throws {
    try await pool.execute(
      """
      INSERT INTO youtube_quota (key, day, budget, is_spent_out)
      VALUES (\(ticket.key.label), \(ticket.day.description)::date, \(ticket.budget.rawValue), true)
      ON CONFLICT (key, day, budget) DO UPDATE SET is_spent_out = true
      """)
  }

  /// Takes a key out of use.
  ///
  /// - Returns: false if it was already.
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

  /// How much of a day's budget a set of keys has left, without setting anything aside.
  enum Standing: Sendable, Equatable {
    case available
    /// Every key that works has spent its budget.
    case spent
    /// No key is set, or each one is disabled.
    case noKey
  }

  static func standing(
    _ rules: LookupRules, isSearch: Bool, on day: PacificDay, in reader: some SocialReader
  ) async throws -> Standing {
    let price = rules.budgets.price(isSearch: isSearch)
    let limit = rules.budgets.limit(of: price.kind)
    let rows = try await reader.rows(
      """
      SELECT coalesce(NOT is_spent_out AND reserved + spent + \(price.cost) <= \(limit), \(price.cost) <= \(limit))
      FROM unnest(\(rules.keys.map(\.label))) AS label
      LEFT JOIN youtube_quota ON key = label AND day = \(day.description)::date AND budget = \(price.kind.rawValue)
      WHERE NOT EXISTS (SELECT FROM youtube_keys known WHERE known.label = label.label AND disabled_at IS NOT NULL)
      """)
    let hasRoom = try rows.decode(Bool.self)
    return hasRoom.isEmpty ? .noKey : hasRoom.contains(true) ? .available : .spent
  }
}
