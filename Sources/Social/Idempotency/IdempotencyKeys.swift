import LibPQClient

/// Stores the responses to requests with an Idempotency-Key.
///
/// The transaction that does the request's work also claims the key and records the response. Either both are
/// committed, or the request can be sent again. A second request with the same key waits at `claim` until the first has
/// ended.
public enum IdempotencyKeys {
  /// The state of a key when a request arrives with it.
  public enum Claim: Sendable, Hashable {
    /// The key is new: do the work, then `record`.
    case first
    /// The response to the first request.
    case answered(status: Int, body: [UInt8])
  }

  /// - Throws: `invalid_Idempotency-Key` unless the key has 1–255 characters.
  public static func check(_ key: String) throws(SocialError) { try FieldRules.text(key, "Idempotency-Key", 1...255) }

  /// Whether a request with the key was answered.
  public static func isAnswered(_ key: String, of account: Int, in reader: some SocialReader) async throws -> Bool {
    try await reader.rows(
      """
      SELECT EXISTS (
        SELECT FROM idempotency_keys WHERE account_id = \(account) AND key = \(key) AND status IS NOT NULL
      )
      """)[0].decode(Bool.self)
  }

  /// A request with a key.
  public struct Request: Sendable, Hashable {
    /// The requesting account; 0 for a request without one.
    public let account: Int
    public let key: String
    /// A hash of the method, the path and the body.
    public let hash: [UInt8]

    /// - Parameter account: nil for a request without one.
    /// - Throws: `invalid_Idempotency-Key` unless the key has 1–255 characters.
    public init(_ key: String, account: Int?, hash: [UInt8]) throws(SocialError) {
      try IdempotencyKeys.check(key)
      self.account = account ?? 0
      self.key = key
      self.hash = hash
    }

    public var id: ID { ID(account: account, key: key) }
  }

  /// The identity of a key.
  public struct ID: Sendable, Hashable {
    let account: Int
    let key: String
  }

  /// Claims a key.
  ///
  /// - Throws: `idempotency_key_reused` if a different request used the key.
  public static func claim(_ request: Request, in transaction: PostgresTransaction) async throws -> Claim {
    try await claim([request], in: transaction)[0].get()
  }

  /// Claims the keys of several requests. No key may occur twice.
  ///
  /// All transactions claim keys in the same order, so that they cannot deadlock.
  ///
  /// - Returns: for each request, in order, the state of its key, or `idempotency_key_reused` if a different request
  ///   used it.
  public static func claim(
    _ requests: [Request], in transaction: PostgresTransaction
  ) async throws -> [Result<Claim, SocialError>] {
    let added = Set(
      try await transaction.query(
        """
        INSERT INTO idempotency_keys (account_id, key, request_hash)
        SELECT account_id, key, request_hash
        FROM unnest(\(requests.map(\.account)), \(requests.map(\.key)), \(requests.map(\.hash)))
          AS request (account_id, key, request_hash)
        ORDER BY account_id, key ON CONFLICT DO NOTHING RETURNING account_id, key
        """
      ).decode(Int.self, String.self).map { ID(account: $0, key: $1) })
    let known = requests.filter { !added.contains($0.id) }
    let answers = known.isEmpty ? [:] : try await self.answers(to: known, in: transaction)
    return requests.map { request in
      if added.contains(request.id) { return .success(.first) }
      guard let answer = answers[request.id], answer.hash == request.hash, let status = answer.status else {
        return .failure(reused)
      }
      return .success(.answered(status: status, body: answer.body))
    }
  }

  private struct Kept {
    let hash: [UInt8]
    /// nil while its transaction is in progress.
    let status: Int?
    let body: [UInt8]
  }

  private static func answers(
    to requests: [Request], in transaction: PostgresTransaction
  ) async throws -> [ID: Kept] {
    let rows = try await transaction.query(
      """
      SELECT account_id, key, request_hash, status, response FROM idempotency_keys
      WHERE (account_id, key) IN (SELECT * FROM unnest(\(requests.map(\.account)), \(requests.map(\.key))))
      """
    ).decode(Int.self, String.self, [UInt8].self, Int32?.self, [UInt8]?.self)
    return Dictionary(
      rows.map { account, key, hash, status, body in
        (ID(account: account, key: key), Kept(hash: hash, status: status.map(Int.init), body: body ?? []))
      }, uniquingKeysWith: { $1 })
  }

  private static let reused = SocialError(
    .idempotencyKeyReused, "the Idempotency-Key was used for another request: use a new key for each request",
    field: "Idempotency-Key")

  /// Records the responses to first requests.
  public static func record(
    _ answers: [(request: Request, status: Int, body: [UInt8])], in transaction: PostgresTransaction
  ) async throws {
    if answers.isEmpty { return }
    try await transaction.execute(
      """
      UPDATE idempotency_keys AS kept SET status = answer.status, response = answer.response
      FROM unnest(\(answers.map(\.request.account)), \(answers.map(\.request.key)), \(answers.map { Int32($0.status) }),
          \(answers.map(\.body))) AS answer (account_id, key, status, response)
      WHERE kept.account_id = answer.account_id AND kept.key = answer.key
      """)
  }

  /// Releases the keys of refused first requests, so that they can be sent again.
  public static func release(_ requests: [Request], in transaction: PostgresTransaction) async throws {
    if requests.isEmpty { return }
    try await transaction.execute(
      """
      DELETE FROM idempotency_keys
      WHERE (account_id, key) IN (SELECT * FROM unnest(\(requests.map(\.account)), \(requests.map(\.key))))
      """)
  }

  /// Deletes keys older than `hours`, oldest first.
  ///
  /// - Parameter limit: the most keys to delete.
  /// - Returns: how many keys were deleted.
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
