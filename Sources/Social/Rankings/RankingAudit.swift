import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Compares celebs' counts with their hearts and registrations, and every ranking as updated from the last snapshot
/// with the same ranking computed from all celebs.
public struct RankingAudit: Sendable, Hashable {
  /// A difference from the expected value.
  public struct Difference: Sendable, Hashable {
    /// `count`: a celeb's count; `rank`: an entry of a ranking; `fans`: how many accounts have registered a celeb;
    /// `given`: how many hearts a fan has given.
    public let problem: String
    public let platform: String
    /// Such as `hearts day`.
    public let what: String
    /// The celeb's account, or the rank.
    public let place: String
    public let expected: String
    public let found: String
  }

  /// The numbers of celebs and ranking entries compared.
  public let celebs: Int
  public let entries: Int
  /// The numbers of celebs with a wrong count and of wrong entries.
  public let wrongCounts: Int
  public let wrongEntries: Int
  /// The first differences.
  public let differences: [Difference]
  /// Hearts and registrations still to be counted, which no ranking includes yet.
  public let waiting: Int
  /// Celebs that have changed since the last snapshot; the next one includes them.
  public let changed: Int

  public var isExact: Bool { wrongCounts == 0 && wrongEntries == 0 }

  /// Compares in one database snapshot, regardless of concurrent writes. Ten million hearts take half a minute.
  ///
  /// - Parameters:
  ///   - examples: how many differences of each kind to return.
  ///   - now: the time whose day, week and month are compared; nil for the current time.
  public static func run(examples: Int = 20, on database: JobsDatabase, now: Date? = nil) async throws -> RankingAudit {
    try await database.pool.transaction(.snapshot) { transaction in
      try await run(examples: examples, database.schema, transaction, now: now)
    }
  }

  static func run(
    examples: Int, _ schema: JobsSchema, _ transaction: PostgresTransaction, now: Date?
  ) async throws -> RankingAudit {
    try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
    let counts = try await rows(
      """
      SELECT problem, platform, what, place, expected, found, total
      FROM audit_counts(\(now), \(Int32(clamping: examples)))
      """,
      transaction)
    let entries = try await rows(
      """
      SELECT problem, platform, what, place, expected, found, total
      FROM audit_rankings(\(now), \(Int32(clamping: examples)))
      """,
      transaction)
    let (celebs, listed, changed) = try await transaction.query(
      """
      SELECT (SELECT count(*) FROM celebs),
        (SELECT coalesce(sum(least(cardinality(l.celeb_ids), s.depth)), 0)::bigint
          FROM ranking_snapshots s, ranking_keys k, LATERAL (
            SELECT celeb_ids FROM ranking_lists
            WHERE platform = k.platform AND measure = k.measure AND span = k.span ORDER BY snapshot_id DESC LIMIT 1) l
          WHERE s.id = (SELECT max(id) FROM ranking_snapshots)),
        (SELECT count(DISTINCT celeb_id) FROM ranking_changes)
      """, timeout: .seconds(3600))[0].decode(Int.self, Int.self, Int.self)
    let kinds = [HeartCount.kind, FanCount.kind]
    let waiting =
      try await schema.pendingCount(of: kinds, in: transaction, timeout: .seconds(3600))
      + schema.deadCount(of: kinds, in: transaction, timeout: .seconds(3600))
    return RankingAudit(
      celebs: celebs, entries: listed, wrongCounts: counts.total, wrongEntries: entries.total,
      differences: counts.differences + entries.differences, waiting: waiting, changed: changed)
  }

  private static func rows(
    _ query: PostgresQuery, _ transaction: PostgresTransaction
  ) async throws -> (total: Int, differences: [Difference]) {
    let rows = try await transaction.query(query, timeout: .seconds(3600)).map { row in
      try row.decode(
        String.self, String.self, String.self, String.self, String.self, String.self, Int.self)
    }
    var totals: [String: Int] = [:]
    for row in rows { totals[row.0] = row.6 }
    return (
      totals.values.reduce(0, +),
      rows.map {
        Difference(problem: $0.0, platform: $0.1, what: $0.2, place: $0.3, expected: $0.4, found: $0.5)
      }
    )
  }
}
