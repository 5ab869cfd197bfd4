import Foundation
import Jobs
import JobsPostgres
import Postgres

/// Gives hearts to celebs.
public enum Hearts {
  /// How long a fan waits between two hearts for one celeb.
  public static let pause = Duration.seconds(600)

  /// A heart that was taken.
  public struct Given: Sendable, Hashable {
    /// How many the fan has given to the celeb since it was registered.
    public let count: Int
    /// When the next one is possible.
    public let nextAt: Date
  }

  /// Gives a heart and owes counting it for the celeb.
  ///
  /// One statement decides and writes: of requests that race, the first locks the fan's own row, and each that waited for it
  /// checks the time again. No row is written that another fan's heart needs.
  ///
  /// - Parameter now: the time of the heart; nil for the present.
  /// - Throws: `celeb_not_registered`, `heart_too_soon`.
  public static func give(
    to account: CelebAccount, by fan: Int, in transaction: AppTransaction, now: Date? = nil
  ) async throws -> Given {
    let rows = try await transaction.sql.query(
      """
      WITH clock AS MATERIALIZED (
        SELECT coalesce(\(now), clock_timestamp()) AS at
      ), given AS (
        UPDATE celeb_fans f SET hearts = f.hearts + 1, hearted_at = clock.at, reached_at = clock.at
        FROM celebs c, clock
        WHERE c.platform = \(account.platform.rawValue) AND c.account = \(account.name)
          AND f.account_id = \(fan) AND f.celeb_id = c.id AND f.since IS NOT NULL
          AND (f.hearted_at IS NULL OR f.hearted_at <= clock.at - make_interval(secs => \(seconds)))
        RETURNING f.celeb_id, f.account_id, f.hearts, f.hearted_at
      ), kept AS (
        INSERT INTO hearts (celeb_id, account_id, given_at) SELECT celeb_id, account_id, hearted_at FROM given
      )
      SELECT celeb_id, hearts, to_microseconds(hearted_at), hearted_at + make_interval(secs => \(seconds)) FROM given
      """)
    guard let row = rows.first else { throw try await refusal(account, fan, transaction.sql, now) }
    let (celeb, count, at, nextAt) = try row.decode(Int.self, Int.self, Int.self, Date.self)
    try await transaction.enqueue(HeartCount(celeb: celeb, fan: fan, at: at))
    return Given(count: count, nextAt: nextAt)
  }

  /// Why a heart was not taken.
  private static func refusal(
    _ account: CelebAccount, _ fan: Int, _ transaction: PostgresTransaction, _ now: Date?
  ) async throws -> SocialError {
    let rows = try await transaction.query(
      """
      SELECT ceil(extract(epoch FROM f.hearted_at + make_interval(secs => \(seconds))
        - coalesce(\(now), clock_timestamp())))::bigint
      FROM celebs c JOIN celeb_fans f ON f.celeb_id = c.id
      WHERE c.platform = \(account.platform.rawValue) AND c.account = \(account.name)
        AND f.account_id = \(fan) AND f.since IS NOT NULL
      """)
    guard let row = rows.first else { return Celebs.notRegistered }
    let left = max(1, try row.decode(Int?.self) ?? 1)
    return SocialError(
      .heartTooSoon, "a celeb gets a heart from you every 10 minutes: the next one is possible in \(left) seconds",
      retryAfter: left)
  }

  private static let seconds = Double(pause.components.seconds)
}
