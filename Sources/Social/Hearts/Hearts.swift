import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// A request by a fan to give a heart.
public struct Heart: Sendable, Hashable {
  public var account: CelebAccount
  public var fan: Int

  public init(to account: CelebAccount, by fan: Int) {
    self.account = account
    self.fan = fan
  }
}

/// Gives hearts to celebs.
public enum Hearts {
  /// The pause between two hearts from one fan to one celeb.
  public static let pause = Duration.seconds(600)

  /// A heart that was accepted.
  public struct Given: Sendable, Hashable {
    /// How many hearts the fan has given since registering the celeb.
    public let count: Int
    /// When the next heart is possible.
    public let nextAt: Date
  }

  /// Gives hearts and enqueues counting them for their celebs. Each heart is accepted or refused individually.
  ///
  /// The fans' own rows are locked first, in key order, so that no two transactions deadlock. The next statement, which
  /// sees everything committed until then, checks the time and writes. So of the requests that race for one heart, in
  /// one transaction or in several, one succeeds. It writes no row that another fan's heart needs.
  ///
  /// - Parameter now: the time of the hearts; nil for the current time.
  /// - Returns: for each heart, in order, the accepted heart or its refusal: `celeb_not_registered`, `heart_too_soon`.
  public static func give(
    _ hearts: [Heart], in transaction: AppTransaction, now: Date? = nil
  ) async throws -> [Result<Given, SocialError>] {
    let (platforms, accounts) = (hearts.map(\.account.platform.rawValue), hearts.map(\.account.name))
    let fans = hearts.map(\.fan)
    let answers = try await transaction.sql.pipeline([
      """
      SELECT FROM unnest(\(platforms), \(accounts), \(fans)) AS heart (platform, account, fan)
      JOIN celebs c ON c.platform = heart.platform AND c.account = heart.account
      JOIN celeb_fans f ON f.account_id = fan AND f.celeb_id = c.id
      ORDER BY f.account_id, f.celeb_id FOR NO KEY UPDATE OF f
      """,
      """
      WITH clock AS MATERIALIZED (
        SELECT coalesce(\(now), clock_timestamp()) AS at
      ), given AS (
        UPDATE celeb_fans f SET hearts = f.hearts + 1, hearted_at = clock.at, reached_at = clock.at
        FROM unnest(\(platforms), \(accounts), \(fans)) WITH ORDINALITY AS heart (platform, account, fan, place)
        JOIN celebs c ON c.platform = heart.platform AND c.account = heart.account, clock
        WHERE f.account_id = fan AND f.celeb_id = c.id AND f.since IS NOT NULL
          AND (f.hearted_at IS NULL OR f.hearted_at <= clock.at - make_interval(secs => \(seconds)))
        RETURNING place, f.celeb_id, f.account_id, f.hearts, f.hearted_at
      ), kept AS (
        INSERT INTO hearts (celeb_id, account_id, given_at) SELECT celeb_id, account_id, hearted_at FROM given
      )
      SELECT place, celeb_id, account_id, hearts, to_microseconds(hearted_at),
        hearted_at + make_interval(secs => \(seconds))
      FROM given
      """,
    ])
    var outcomes = [Result<Given, SocialError>?](repeating: nil, count: hearts.count)
    var counts: [HeartCount] = []
    for row in try answers[1].decode(Int.self, Int.self, Int.self, Int.self, Int.self, Date.self) {
      let (place, celeb, fan, count, at, nextAt) = row
      outcomes[place - 1] = .success(Given(count: count, nextAt: nextAt))
      counts.append(HeartCount(celeb: celeb, fan: fan, at: at))
    }
    if !counts.isEmpty { try await transaction.enqueue(counts) }
    for place in outcomes.indices where outcomes[place] == nil {
      outcomes[place] = .failure(try await refusal(hearts[place], transaction.sql, now))
    }
    return outcomes.compactMap { $0 }
  }

  /// The reason that a heart was refused.
  private static func refusal(
    _ heart: Heart, _ transaction: PostgresTransaction, _ now: Date?
  ) async throws -> SocialError {
    let rows = try await transaction.query(
      """
      SELECT ceil(extract(epoch FROM f.hearted_at + make_interval(secs => \(seconds))
        - coalesce(\(now), clock_timestamp())))::bigint
      FROM celebs c JOIN celeb_fans f ON f.celeb_id = c.id
      WHERE c.platform = \(heart.account.platform.rawValue) AND c.account = \(heart.account.name)
        AND f.account_id = \(heart.fan) AND f.since IS NOT NULL
      """)
    guard let row = rows.first else { return Celebs.notRegistered }
    let left = max(1, try row.decode(Int?.self) ?? 1)
    return SocialError(
      .heartTooSoon, "you can give a celeb a heart every 10 minutes: try again in \(left) seconds",
      retryAfter: left)
  }

  private static let seconds = Double(pause.components.seconds)
}
