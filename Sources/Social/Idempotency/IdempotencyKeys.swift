import LibPQClient

/// Remembers what requests with an Idempotency-Key were answered.
///
/// The key is claimed in the transaction that does what the request asks for, and the answer is recorded there too:
/// either both are there or the request can be sent again. A second request with the key waits at `claim` until the
/// first has ended.
public enum IdempotencyKeys {
  /// What is known of a key when a request comes with it.
  public enum Claim: Sendable, Hashable {
    /// The key is new: do what is asked, then `record`.
    case first
    /// The answer that the first request got.
    case answered(status: Int, body: [UInt8])
  }

  /// Claims a key.
  ///
  /// - Parameters:
  ///   - account: the account that asks; nil for a request without one.
  ///   - requestHash: a hash of the method, the path and the body.
  /// - Throws: `idempotency_key_reused` if another request had the key; `invalid_Idempotency-Key` if it has not 1–255
  ///   characters.
  public static func claim(
    _ key: String, account: Int?, requestHash: [UInt8], in transaction: PostgresTransaction
  ) async throws -> Claim {
    try FieldRules.text(key, "Idempotency-Key", 1...255)
    let added = try await transaction.execute(
      """
      INSERT INTO idempotency_keys (account_id, key, request_hash) VALUES (\(account ?? 0), \(key), \(requestHash))
      ON CONFLICT DO NOTHING
      """)
    if added == 1 { return .first }
    let rows = try await transaction.query(
      """
      SELECT request_hash, status, response FROM idempotency_keys WHERE account_id = \(account ?? 0) AND key = \(key)
      """
    ).decode([UInt8].self, Int32?.self, [UInt8]?.self)
    guard let row = rows.first, row.0 == requestHash, let status = row.1 else {
      throw SocialError(
        .idempotencyKeyReused, "the Idempotency-Key was used for another request: take a fresh one for each request",
        field: "Idempotency-Key")
    }
    return .answered(status: Int(status), body: row.2 ?? [])
  }

  /// Records what the first request was answered.
  public static func record(
    _ key: String, account: Int?, status: Int, body: [UInt8], in transaction: PostgresTransaction
  ) async throws {
    try await transaction.execute(
      """
      UPDATE idempotency_keys SET status = \(Int32(status)), response = \(body)
      WHERE account_id = \(account ?? 0) AND key = \(key)
      """)
  }

  /// Forgets keys older than `hours`, the oldest first.
  ///
  /// - Parameter limit: how many at most.
  /// - Returns: how many.
  @discardableResult
  public static func sweep(
    olderThan hours: Int = 24, upTo limit: Int = 1000, in transaction: PostgresTransaction
  ) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM idempotency_keys WHERE (account_id, key) IN (
        SELECT account_id, key FROM idempotency_keys
        WHERE created_at < now() - make_interval(hours => \(Int32(hours))) ORDER BY created_at LIMIT \(limit)
        FOR UPDATE SKIP LOCKED)
      """)
  }
}
