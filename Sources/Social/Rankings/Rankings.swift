import Foundation
import LibPQClient

/// Reads rankings.
public enum Rankings {
  /// A page of a ranking. All pages that follow from one cursor are of the same snapshot, even if a newer one exists.
  ///
  /// - Throws: `invalid_before` for a cursor whose snapshot no longer exists.
  public static func page(
    of key: RankingKey, _ request: PageRequest, in reader: some SocialReader
  ) async throws -> RankingPage {
    let cursor = request.before.map(Cursor.init)
    let first = (cursor?.rank ?? 0) + 1
    // Previous ranks are looked up one by one. Postgres estimates ten rows for an unnest, so a join would compare each
    // celeb of the previous list with each of the page's.
    let rows = try await reader.rows(
      """
      WITH snapshot AS MATERIALIZED (
        SELECT s.id, s.computed_at, s.depth, coalesce(
          (SELECT p.depth FROM ranking_snapshots p WHERE p.id < s.id ORDER BY p.id DESC LIMIT 1), s.depth
        ) AS former_depth
        FROM ranking_snapshots s WHERE s.id = coalesce(\(cursor?.snapshot), (SELECT max(id) FROM ranking_snapshots))
      ), list AS MATERIALIZED (
        SELECT l.celeb_ids, l.hearts, l.followers FROM ranking_lists l, snapshot s
        WHERE l.platform = \(key.platform.rawValue) AND l.measure = \(key.measure.rawValue)
          AND l.span = \(key.window.rawValue) AND l.snapshot_id <= s.id
        ORDER BY l.snapshot_id DESC LIMIT 1
      ), former AS MATERIALIZED (
        SELECT l.celeb_ids[1:s.former_depth] AS celeb_ids FROM ranking_lists l, snapshot s
        WHERE l.platform = \(key.platform.rawValue) AND l.measure = \(key.measure.rawValue)
          AND l.span = \(key.window.rawValue) AND l.snapshot_id < s.id
        ORDER BY l.snapshot_id DESC LIMIT 1
      ), entry AS (
        SELECT e.id, \(first) - 1 + e.place AS rank, e.hearts, e.followers, s.depth
        FROM snapshot s, list l, unnest(
          l.celeb_ids[\(first):\(first + request.limit)], l.hearts[\(first):\(first + request.limit)],
          l.followers[\(first):\(first + request.limit)]
        ) WITH ORDINALITY AS e (id, hearts, followers, place)
      )
      SELECT s.id, s.computed_at, e.rank, array_position((SELECT celeb_ids FROM former), e.id)::bigint, c.account,
        \(unescaped: FanCeleb.title), k.thumbnail, e.hearts, e.followers
      FROM snapshot s
        LEFT JOIN entry e ON e.rank <= e.depth
        LEFT JOIN celebs c ON c.id = e.id
        \(unescaped: FanCeleb.channel)
      ORDER BY e.rank
      """)
    guard let head = rows.first else {
      if cursor == nil { return RankingPage(items: []) }
      throw SocialError.invalid("before", "refers to a ranking snapshot that no longer exists: start again without it")
    }
    let snapshot = try Int(postgres: head[0])
    let computedAt = try Date(postgres: head[1])
    let items = try rows.compactMap { try RankedCeleb(row: $0) }
    let page = Page(items, limit: request.limit) { Cursor(snapshot: snapshot, rank: $0.rank).number }
    return RankingPage(computedAt: computedAt, items: page.items, next: page.next)
  }

  /// A celeb's ranks in its platform's rankings that list it, by the last snapshot.
  ///
  /// - Parameter celeb: nil for an unregistered celeb, which has no rank.
  static func ranks(
    of celeb: Int?, on platform: CelebPlatform, in reader: some SocialReader
  ) async throws -> [RankingKey: Int] {
    guard let celeb else { return [:] }
    let rows = try await reader.rows(
      """
      SELECT k.measure, k.span, array_position(l.celeb_ids[1:s.depth], \(celeb))::bigint
      FROM (SELECT depth FROM ranking_snapshots ORDER BY id DESC LIMIT 1) s
      JOIN ranking_keys k ON k.platform = \(platform.rawValue)
      CROSS JOIN LATERAL (
        SELECT celeb_ids FROM ranking_lists l
        WHERE l.platform = k.platform AND l.measure = k.measure AND l.span = k.span
        ORDER BY l.snapshot_id DESC LIMIT 1
      ) l
      """
    ).decode(String.self, String.self, Int?.self)
    var ranks: [RankingKey: Int] = [:]
    for case (let measure, let window, let rank?) in rows {
      guard let measure = RankingKey.Measure(rawValue: measure), let window = RankingKey.Window(rawValue: window) else {
        continue
      }
      ranks[RankingKey(platform, by: measure, window)] = rank
    }
    return ranks
  }

  /// A snapshot and the last rank read from it, as one number below 2⁵³.
  private struct Cursor {
    let snapshot: Int
    let rank: Int

    /// More than a list's depth.
    private static let ranks = 1 << 17

    init(snapshot: Int, rank: Int) {
      self.snapshot = snapshot
      self.rank = rank
    }

    init(number: Int) {
      snapshot = number / Self.ranks
      rank = number % Self.ranks
    }

    var number: Int { snapshot * Self.ranks + rank }
  }
}

extension RankedCeleb {
  /// nil for a row with only the snapshot.
  fileprivate init?(row: PostgresRow) throws {
    guard let rank = try Int?(postgres: row[2]) else { return nil }
    self.rank = rank
    previousRank = try Int?(postgres: row[3])
    account = try String(postgres: row[4])
    title = try String?(postgres: row[5])
    thumbnail = try String?(postgres: row[6])
    hearts = try Int(postgres: row[7])
    followers = try Int(postgres: row[8])
  }
}
