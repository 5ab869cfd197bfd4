import Crypto
import Foundation
import Postgres

/// Counts the passwords that are tried for an address, so that nobody tries many.
///
/// An attempt counts before the password is looked at, and a right one forgets all: guesses that race do not slip through.
enum SignInAttempts {
  /// How many are allowed in `window`.
  static let limit = 20
  /// In minutes.
  static let window = 15

  /// Counts an attempt.
  ///
  /// - Throws: `too_many_attempts` past the limit.
  static func count(_ email: String, in pool: PostgresPool) async throws {
    let rows = try await pool.query(
      """
      INSERT INTO sign_in_attempts AS a (address_hash, attempts, since)
      VALUES (\(hash(email)), 1, now())
      ON CONFLICT (address_hash) DO UPDATE SET
        attempts = CASE WHEN a.since <= excluded.since - \(unescaped: interval) THEN 1 ELSE a.attempts + 1 END,
        since = CASE WHEN a.since <= excluded.since - \(unescaped: interval) THEN excluded.since ELSE a.since END
      RETURNING attempts,
        ceil(extract(epoch FROM since + \(unescaped: interval) - now()))::bigint
      """)
    let (attempts, time) = try rows[0].decode(Int32.self, Int.self)
    // Counting may have begun in a transaction that is younger than this one.
    let left = min(max(time, 1), window * 60)
    guard attempts <= limit else {
      throw SocialError(
        .tooManyAttempts,
        "too many passwords were tried for this email address: try again in \((left + 59) / 60) minutes",
        retryAfter: left)
    }
  }

  /// Forgets an address's attempts: its password was right.
  static func forget(_ email: String, in pool: PostgresPool) async throws {
    try await pool.execute("DELETE FROM sign_in_attempts WHERE address_hash = \(hash(email))")
  }

  /// Forgets those that count no more.
  ///
  /// - Returns: how many, at most `limit`.
  @discardableResult
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM sign_in_attempts WHERE address_hash IN (
        SELECT address_hash FROM sign_in_attempts WHERE since <= now() - \(unescaped: interval)
        ORDER BY since LIMIT \(limit) FOR UPDATE SKIP LOCKED)
      """)
  }

  private static var interval: String { "interval '\(window) minutes'" }

  private static func hash(_ email: String) -> [UInt8] { Array(SHA256.hash(data: Array(email.lowercased().utf8))) }
}
