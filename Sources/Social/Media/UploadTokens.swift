import LibPQClient

/// Lets somebody who has no account yet upload one picture, within a quarter of an hour: 32 random bytes, of which the
/// database has the hash alone.
public enum UploadTokens {
  /// Seconds for which a token is good.
  public static let lifetime = 900

  public static func issue(in transaction: PostgresTransaction) async throws -> SessionToken {
    let token = SessionToken()
    try await transaction.execute(
      """
      INSERT INTO upload_tokens (hash, expires_at) VALUES (\(token.hash), now() + make_interval(secs => \(Double(lifetime))))
      """)
    return token
  }

  /// Whether a token can be used, before its upload is received.
  public static func isUsable(_ token: SessionToken, in reader: some SocialReader) async throws -> Bool {
    try await reader.rows(
      "SELECT EXISTS (SELECT FROM upload_tokens WHERE hash = \(token.hash) AND expires_at > now())")[0]
      .decode(Bool.self)
  }

  /// Uses a token up.
  ///
  /// - Throws: `upload_expired` for one that is too old, or was used, or is nobody's.
  public static func use(_ token: SessionToken, in transaction: PostgresTransaction) async throws {
    let used = try await transaction.execute(
      "DELETE FROM upload_tokens WHERE hash = \(token.hash) AND expires_at > now()")
    guard used == 1 else { throw expired }
  }

  public static let expired = SocialError(
    .uploadExpired, "the upload token was used or is older than 15 minutes: ask for another")
}
