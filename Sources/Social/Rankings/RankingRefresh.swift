import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Computes a new snapshot of all rankings that replaces the last one. Runs every few minutes.
///
/// It applies the changes since the last snapshot; `recount` counts everything from the hearts themselves. A change of
/// time zone also recounts everything. See `docs/rankings.md`.
public struct RankingRefresh: Job {
  public static let kind: JobKind = "rankings.refresh"
  public static let queue = SocialJobs.rankingQueue
  public static var timeout: Duration? { .seconds(1800) }

  /// How many celebs a list holds, unless a setting overrides it.
  public static let usualDepth = 10_000
  public static let depths = 1...100_000

  /// How many celebs a list holds; nil keeps the previous depth.
  public var depth: Int?
  /// The IANA time zone in which days end at midnight; nil keeps the previous one.
  public var timeZone: String?
  /// How many days snapshots are kept; nil keeps all.
  public var historyDays: Int?
  /// How many days the daily ranks are kept; nil keeps all.
  public var pointDays: Int?
  /// Whether to recount everything.
  public var recount: Bool?

  public init(
    depth: Int? = nil, timeZone: String? = nil, historyDays: Int? = nil, pointDays: Int? = nil, recount: Bool? = nil
  ) {
    self.depth = depth
    self.timeZone = timeZone
    self.historyDays = historyDays
    self.pointDays = pointDays
    self.recount = recount
  }

  /// The result of one run.
  public struct Outcome: Sendable, Hashable {
    public let snapshot: Int
    public let computedAt: Date
    /// Whether everything was recounted.
    public let isRecount: Bool
    /// Celebs whose counts changed since the previous snapshot.
    public let changes: Int
    /// Lists that changed.
    public let lists: Int
    /// Celebs whose counts were wrong; only a recount finds them.
    public let corrected: Int
  }

  /// - Parameter now: the time of the snapshot; nil for the current time.
  @discardableResult
  public func run(in transaction: PostgresTransaction, now: Date? = nil) async throws -> Outcome {
    let (lastDepth, lastZone) = try await transaction.query(
      """
      SELECT (SELECT depth FROM ranking_snapshots ORDER BY id DESC LIMIT 1), (SELECT name FROM ranking_zone)
      """)[0].decode(Int32?.self, String.self)
    let depth = depth ?? lastDepth.map { Int($0) } ?? Self.usualDepth
    let rows = Int32(min(max(depth, Self.depths.lowerBound), Self.depths.upperBound))
    let isRecount = recount == true || (timeZone != nil && timeZone != lastZone)
    let query: PostgresQuery =
      isRecount
      ? """
      SELECT snapshot, computed_at, changes, lists, corrected
      FROM recount_rankings(\(rows), \(timeZone ?? lastZone), \(now))
      """
      : """
      SELECT snapshot, computed_at, changes, lists, 0::bigint FROM make_ranking_snapshot(\(rows), \(now), false)
      """
    let row = try await transaction.query(query, timeout: .seconds(1800))[0]
    let (snapshot, computedAt, changes, lists, corrected) = try row.decode(
      Int.self, Date.self, Int.self, Int.self, Int.self)
    try await transaction.execute("SELECT keep_rank_day(\(snapshot))", timeout: .seconds(1800))
    if let historyDays {
      try await prune(before: computedAt.addingTimeInterval(-86_400 * Double(historyDays)), transaction)
    }
    if let pointDays {
      let oldest = computedAt.addingTimeInterval(-86_400 * Double(pointDays))
      try await transaction.execute("SELECT prune_rank_days(ranking_day(\(oldest)))", timeout: .seconds(1800))
    }
    let isFull = isRecount ? "true" : "false"
    try await transaction.execute(
      """
      SELECT \(WebhookEvents.noting(
        .rankingRefreshed, about: "'rankings'",
        "jsonb_build_object('ranking', jsonb_build_object('snapshot', id, 'computedAt', webhook_time(computed_at), "
          + "'isRecount', \(isFull)))"))
      FROM ranking_snapshots WHERE id = \(snapshot)
      """)
    // The last statement: writers of `live_events` wait from here to the commit.
    try await transaction.execute("SELECT note_top_tens(\(snapshot))")
    return Outcome(
      snapshot: snapshot, computedAt: computedAt, isRecount: isRecount, changes: changes, lists: lists,
      corrected: corrected)
  }

  /// Deletes snapshots older than `time`, but keeps the last two, which provide the current and previous ranks.
  private func prune(before time: Date, _ transaction: PostgresTransaction) async throws {
    try await transaction.execute("SELECT prune_rankings(\(time))")
  }
}
