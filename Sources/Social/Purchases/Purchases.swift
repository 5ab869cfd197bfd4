import DurableJobs
import Foundation
import LibPQClient

/// Grants places for celebs by receipt. Each receipt grants once, however often and in whatever order events arrive.
public enum Purchases {
  /// The effect of an event.
  public enum Outcome: String, Sendable, Hashable {
    case granted
    /// The account loses the places. Its registered celebs remain; it can add more once it is within its limit.
    case refunded
    /// A refund was reversed.
    case restored
    /// The event is known, or older than what is known.
    case unchanged
  }

  /// Applies an event.
  ///
  /// - Throws: `not_found` for a deleted account, `receipt_taken` if the receipt belongs to another account.
  public static func apply(
    _ event: PurchaseEvent, to account: Int, in transaction: PostgresTransaction
  ) async throws -> Outcome {
    let outcome = try await transaction.query(
      """
      SELECT apply_purchase(\(account), \(event.source.rawValue), \(event.receipt), \(event.kind.rawValue),
        \(Int32(clamping: event.places)), \(event.product), \(event.date))
      """)[0].decode(String.self)
    switch outcome {
    case "no_account": throw SocialError.notFound("account")
    case "taken":
      throw SocialError(
        .receiptTaken, "the receipt belongs to another account: a receipt grants once", field: "receipt")
    default: return Outcome(rawValue: outcome) ?? .unchanged
    }
  }

  /// An account's purchases and grants, newest first.
  public static func list(of account: Int, in reader: some SocialReader) async throws -> [Purchase] {
    try await reader.rows(
      """
      SELECT source, receipt, product, places, granted_at, refunded_at FROM purchases WHERE account_id = \(account)
      ORDER BY coalesce(granted_at, refunded_at) DESC, receipt
      """
    ).map { row in
      let (source, receipt, product, places, granted, refunded) = try row.decode(
        String.self, String.self, String?.self, Int32.self, Date?.self, Date?.self)
      return Purchase(
        source: PurchaseEvent.Source(rawValue: source) ?? .notice, receipt: receipt, product: product,
        places: Int(places), grantedAt: granted, refundedAt: refunded)
    }
  }

  /// How many celebs an account may register now.
  public static func places(
    of account: Int, limit: Int = Celebs.usualLimit, in reader: some SocialReader
  ) async throws -> Int {
    let rows = try await reader.rows("SELECT celeb_places(\(account), \(Int32(clamping: limit)))::bigint")
    guard let places = try rows.first?.decode(Int?.self) else { throw SocialError.notFound("account") }
    return places
  }

  // MARK: Tokens

  /// The id by which a store knows an account: its `appAccountToken`. Created on first use.
  public static func token(of account: Int, in pool: PostgresPool) async throws -> UUID {
    let rows = try await pool.pipeline([
      "INSERT INTO purchase_tokens (account_id) VALUES (\(account)) ON CONFLICT DO NOTHING",
      "SELECT token FROM purchase_tokens WHERE account_id = \(account)",
    ])
    return try rows[1][0].decode(UUID.self)
  }

  /// - Throws: `not_found`.
  static func account(of token: UUID, in transaction: PostgresTransaction) async throws -> Int {
    let rows = try await transaction.query(
      "SELECT account_id FROM purchase_tokens WHERE token = \(PostgresUUID(token))")
    guard let account = try rows.decode(Int.self).first else {
      throw SocialError(.notFound, "no account has this purchase token")
    }
    return account
  }
}
