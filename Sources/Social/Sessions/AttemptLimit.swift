import Crypto
import Foundation
import Postgres

/// Counts what is tried for an address, or by a client, so that nobody tries many.
///
/// An attempt counts before anything is looked at, whether or not an account has the address: guesses that race do not slip
/// through, and a refusal tells nothing.
struct AttemptLimit: Sendable {
  /// Keeps counts of different things apart.
  private let purpose: String
  /// How many are allowed in `window`.
  let limit: Int
  /// What is refused, for people.
  private let what: String

  /// In minutes.
  static let window = 15

  /// Passwords that are tried for an email address. A right one forgets all.
  static let signIn = AttemptLimit(purpose: "", limit: 20, what: "too many passwords were tried for this email address")
  /// Mails that are asked for an email address: each is one in somebody's mailbox.
  static let resetOfAddress = AttemptLimit(
    purpose: "reset of ", limit: 3, what: "too many mails were asked for with this email address")
  /// Mails that are asked for from a network address, which many may share behind a proxy.
  static let resetByClient = AttemptLimit(
    purpose: "reset by ", limit: 100, what: "too many mails were asked for from your network address")

  /// Counts an attempt.
  ///
  /// - Throws: `too_many_attempts` past the limit.
  func count(_ subject: String, in pool: PostgresPool) async throws {
    let rows = try await pool.query(
      """
      INSERT INTO sign_in_attempts AS a (address_hash, attempts, since)
      VALUES (\(hash(subject)), 1, now())
      ON CONFLICT (address_hash) DO UPDATE SET
        attempts = CASE WHEN a.since <= excluded.since - \(unescaped: Self.interval) THEN 1 ELSE a.attempts + 1 END,
        since = CASE WHEN a.since <= excluded.since - \(unescaped: Self.interval) THEN excluded.since ELSE a.since END
      RETURNING attempts,
        ceil(extract(epoch FROM since + \(unescaped: Self.interval) - now()))::bigint
      """)
    let (attempts, time) = try rows[0].decode(Int32.self, Int.self)
    // Counting may have begun in a transaction that is younger than this one.
    let left = min(max(time, 1), Self.window * 60)
    guard attempts <= limit else {
      throw SocialError(
        .tooManyAttempts, "\(what): try again in \((left + 59) / 60) minutes", retryAfter: left)
    }
  }

  /// Forgets what was tried.
  func forget(_ subject: String, in pool: PostgresPool) async throws {
    try await pool.execute("DELETE FROM sign_in_attempts WHERE address_hash = \(hash(subject))")
  }

  /// Forgets attempts of all kinds that count no more.
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

  private func hash(_ subject: String) -> [UInt8] {
    Array(SHA256.hash(data: Array((purpose + subject.lowercased()).utf8)))
  }
}
