import Foundation
import LibPQClient

/// A celeb's public profile, with the viewer's own registration.
public struct CelebProfile: Sendable, Hashable {
  public let account: CelebAccount
  public let title: String
  /// The address of a picture; nil if the platform has not provided one.
  public let thumbnail: String?
  public let state: CelebState
  public let followers: Int
  public let hearts: Int
  /// The celeb's ranks in the rankings that list it.
  public let ranks: [RankingKey: Int]
  /// Nil if the viewer has not registered it.
  public let own: Own?

  /// A fan's own data for a celeb.
  public struct Own: Sendable, Hashable {
    public let since: Date
    /// Hearts given since then.
    public let count: Int
    /// When the next heart is possible; nil if it is possible now.
    public let nextAt: Date?
  }

  /// The profile of a registered celeb, or of a stored channel.
  ///
  /// - Parameter now: the current time; nil to use the clock.
  /// - Throws: `not_found`.
  public static func of(
    _ account: CelebAccount, seenBy viewer: Int, in reader: some SocialReader, now: Date? = nil
  ) async throws -> CelebProfile {
    let rows = try await reader.rows(
      """
      SELECT c.id, coalesce(k.title, asked.account), k.thumbnail,
        coalesce(c.state, CASE WHEN k.id IS NULL THEN 'unchecked' ELSE 'verified' END),
        coalesce(c.followers, 0), coalesce(c.hearts, 0), f.since, f.hearts,
        CASE WHEN f.hearted_at + make_interval(secs => \(pause)) > coalesce(\(now), clock_timestamp())
          THEN f.hearted_at + make_interval(secs => \(pause)) END
      FROM (SELECT \(account.platform.rawValue) AS platform, \(account.name) AS account) asked
        LEFT JOIN celebs c ON c.platform = asked.platform AND c.account = asked.account
        LEFT JOIN channels k ON asked.platform = 'youtube' AND k.id = asked.account
        LEFT JOIN celeb_fans f ON f.account_id = \(viewer) AND f.celeb_id = c.id AND f.since IS NOT NULL
      WHERE c.id IS NOT NULL OR k.id IS NOT NULL
      """)
    guard let row = rows.first else {
      throw SocialError(.notFound, "this celeb is not registered, and no search has found it")
    }
    let (id, title, thumbnail, state, followers, hearts, since, count, nextAt) = try row.decode(
      Int?.self, String.self, String?.self, String.self, Int.self, Int.self, Date?.self, Int?.self, Date?.self)
    let own = since.map { Own(since: $0, count: count ?? 0, nextAt: nextAt) }
    return CelebProfile(
      account: account, title: title, thumbnail: thumbnail, state: CelebState(rawValue: state) ?? .unchecked,
      followers: followers, hearts: hearts, ranks: try await Rankings.ranks(of: id, on: account.platform, in: reader),
      own: own)
  }

  private static let pause = Double(Hearts.pause.components.seconds)
}
