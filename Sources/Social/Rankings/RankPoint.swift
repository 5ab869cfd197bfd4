import LibPQClient

/// A celeb's rank at the end of a day; for the current day, its rank now.
public struct RankPoint: Sendable, Hashable {
  /// In the rankings' time zone, such as `2026-11-27`.
  public let day: String
  public let rank: Int
  /// The hearts or followers that the ranking counts.
  public let count: Int
}

extension Rankings {
  /// The days on which a celeb was listed, newest first.
  ///
  /// - Parameter key: a ranking of the celeb's platform.
  /// - Throws: `not_found` for a celeb that was never registered.
  public static func history(
    of account: CelebAccount, in key: RankingKey, in reader: some SocialReader
  ) async throws -> [RankPoint] {
    let (platform, measure, window) = (account.platform.rawValue, key.measure.rawValue, key.window.rawValue)
    let rows = try await reader.rows(
      """
      WITH celeb AS MATERIALIZED (
        SELECT id FROM celebs WHERE platform = \(platform) AND account = \(account.name)
      ), latest AS MATERIALIZED (
        SELECT ranking_day(s.computed_at) AS day, l.hearts, l.followers,
          array_position(l.celeb_ids[1:s.depth], (SELECT id FROM celeb)) AS rank
        FROM (SELECT * FROM ranking_snapshots ORDER BY id DESC LIMIT 1) s CROSS JOIN LATERAL (
          SELECT * FROM ranking_lists WHERE platform = \(platform) AND measure = \(measure) AND span = \(window)
          ORDER BY snapshot_id DESC LIMIT 1
        ) l
      )
      SELECT p.day::text, p.rank::bigint, p.count FROM celeb LEFT JOIN (
        SELECT d.day, d.rank, d.count FROM celeb_rank_days d
        WHERE d.celeb_id = (SELECT id FROM celeb) AND d.measure = \(measure) AND d.span = \(window)
        UNION ALL
        SELECT day, rank, CASE WHEN \(measure) = 'hearts' THEN hearts[rank] ELSE followers[rank] END
        FROM latest WHERE rank IS NOT NULL
      ) p ON true
      ORDER BY p.day DESC
      """
    ).decode(String?.self, Int?.self, Int?.self)
    if rows.isEmpty { throw SocialError(.notFound, "this celeb is not registered") }
    return rows.compactMap { day, rank, count in
      guard let day, let rank, let count else { return nil }
      return RankPoint(day: day, rank: rank, count: count)
    }
  }
}
