import LibPQClient

/// Lets a client without an account upload one picture within 15 minutes. A token is 32 random bytes, and the database
/// stores only its hash.
public enum UploadTokens {
  /// How long a token is valid, in seconds.
  public static let lifetime = 900

  public static func issue(in transaction: PostgresTransaction) async throws -> SessionToken {
    let token = SessionToken()
    try await transaction.execute(
      """
      INSERT INTO upload_tokens (hash, expires_at) VALUES (\(token.hash), now() + make_interval(secs => \(Double(lifetime))))
      """)
    return token
  }

  /// Whether a token is valid, checked before its upload is received.
  public static func isUsable(_ token: SessionToken, in reader: some SocialReader) async throws -> Bool {
    try await reader.rows(
      "SELECT EXISTS (SELECT FROM upload_tokens WHERE hash = \(token.hash) AND expires_at > now())")[0]
      .decode(Bool.self)
  }

  /// Consumes a token.
  ///
  /// - Throws: `upload_expired` if it is too old, used, or unknown.
  public static func use(_ token: SessionToken, in transaction: PostgresTransaction) async throws {
    let used = try await transaction.execute(
      "DELETE FROM upload_tokens WHERE hash = \(token.hash) AND expires_at > now()")
    guard used == 1 else { throw expired }
  }

  public static let expired = SocialError(
    .uploadExpired, "the upload token was used or is older than 15 minutes: request another")
}
