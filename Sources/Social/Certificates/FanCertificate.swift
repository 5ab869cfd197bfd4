import Foundation
import LibPQClient

/// A statement about a fan: since when, with how many hearts, and the fan's rank among the celeb's fans.
public struct FanCertificate: Sendable, Hashable, Codable {
  public let platform: CelebPlatform
  public let account: String
  /// The fan's username when the certificate was issued.
  public let username: String
  /// When the fan registered the celeb; whole seconds.
  public let since: Date
  /// Hearts given since then.
  public let hearts: Int
  /// 1 for the fan with the most hearts; among equals, for the one who got there first. At most `tiesCounted` earlier
  /// equals are counted, so beyond that the rank is better than it should be by the uncounted ones.
  public let rank: Int
  /// How many fans the celeb had.
  public let fans: Int
  /// When the certificate was issued; whole seconds.
  public let issuedAt: Date

  /// Short names, because a certificate is part of a URL.
  private enum CodingKeys: String, CodingKey {
    case platform = "p"
    case account = "a"
    case username = "u"
    case since = "s"
    case hearts = "h"
    case rank = "r"
    case fans = "f"
    case issuedAt = "i"
  }

  static let tiesCounted = 10_000

  /// Issues a certificate of the current state. Reads the number of fans per heart count
  /// (`migrations/0032_fan_levels.sql`), and the fans with as many hearts who got there first.
  ///
  /// - Parameter now: the time of issue; nil for the current time.
  /// - Throws: `celeb_not_registered`.
  public static func issue(
    for account: CelebAccount, of fan: Int, in reader: some SocialReader, now: Date? = nil
  ) async throws -> FanCertificate {
    let rows = try await reader.rows(
      """
      SELECT a.username, f.since, f.hearts, level.above + (
          SELECT count(*) FROM (
            SELECT FROM celeb_fans o WHERE o.celeb_id = f.celeb_id AND o.since IS NOT NULL AND o.hearts = f.hearts
              AND (o.reached_at, o.account_id) < (f.reached_at, f.account_id)
            ORDER BY o.reached_at, o.account_id LIMIT \(tiesCounted)
          ) tied),
        level.fans, coalesce(\(now), clock_timestamp())
      FROM celebs c JOIN celeb_fans f ON f.celeb_id = c.id JOIN accounts a ON a.id = f.account_id
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(fans) FILTER (WHERE hearts > f.hearts), 0)::bigint AS above,
          coalesce(sum(fans), 0)::bigint AS fans
        FROM celeb_fan_levels WHERE celeb_id = c.id
      ) level
      WHERE c.platform = \(account.platform.rawValue) AND c.account = \(account.name)
        AND f.account_id = \(fan) AND f.since IS NOT NULL
      """)
    guard let row = rows.first else { throw Celebs.notRegistered }
    let (username, since, hearts, ahead, fans, issuedAt) = try row.decode(
      String.self, Date.self, Int.self, Int.self, Int.self, Date.self)
    return FanCertificate(
      platform: account.platform, account: account.name, username: username, since: since.wholeSeconds, hearts: hearts,
      rank: ahead + 1, fans: fans, issuedAt: issuedAt.wholeSeconds)
  }
}

extension CelebPlatform: Codable {}

extension Date {
  fileprivate var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
