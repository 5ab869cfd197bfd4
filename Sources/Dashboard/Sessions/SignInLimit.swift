import HTTPTypes
import Postgres

/// Counts the tokens that are tried from an address, so that nobody tries many.
///
/// An attempt counts before the token is looked at, and a right one forgets all: guesses that race do not slip through.
struct SignInLimit: Sendable {
  /// How many are allowed in `window`.
  static let attempts = 10
  /// In minutes.
  static let window = 15

  let pool: PostgresPool

  /// Counts an attempt.
  ///
  /// - Throws: `Refusal` of status 429 past the limit.
  func count(_ address: String) async throws {
    let rows = try await pool.query(
      """
      INSERT INTO admin_sign_in_attempts AS a (address, attempts, since) VALUES (\(address), 1, now())
      ON CONFLICT (address) DO UPDATE SET
        attempts = CASE WHEN a.since <= excluded.since - \(unescaped: Self.interval) THEN 1 ELSE a.attempts + 1 END,
        since = CASE WHEN a.since <= excluded.since - \(unescaped: Self.interval) THEN excluded.since ELSE a.since END
      RETURNING attempts, ceil(extract(epoch FROM since + \(unescaped: Self.interval) - now()))::bigint
      """)
    let (attempts, time) = try rows[0].decode(Int32.self, Int.self)
    guard attempts > Int32(Self.attempts) else { return }
    let left = min(max(time, 1), Self.window * 60)
    throw Refusal(
      .tooManyRequests, "Too many attempts",
      "Too many tokens were tried from your address. Try again in \((left + 59) / 60) minutes.", retryAfter: left)
  }

  /// Forgets an address's attempts, since its token was right, and a few that count no more.
  func forget(_ address: String) async throws {
    try await pool.pipeline([
      "DELETE FROM admin_sign_in_attempts WHERE address = \(address)",
      """
      DELETE FROM admin_sign_in_attempts WHERE address IN (
        SELECT address FROM admin_sign_in_attempts WHERE since <= now() - \(unescaped: Self.interval)
        ORDER BY since LIMIT 100 FOR UPDATE SKIP LOCKED)
      """,
    ])
  }

  private static var interval: String { "interval '\(window) minutes'" }
}
