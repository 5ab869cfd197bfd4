import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Makes a new snapshot of all rankings that replaces the last one. To be run every few minutes.
///
/// It takes up what has changed since the last snapshot; `recount` counts everything anew from the hearts themselves. A
/// time zone other than the last one's has everything counted anew. See `docs/rankings.md`.
public struct RankingRefresh: Job {
  public static let kind: JobKind = "rankings.refresh"
  public static let queue = SocialJobs.rankingQueue
  public static var timeout: Duration? { .seconds(1800) }

  /// How many celebs a list shows, unless a setting says otherwise.
  public static let usualDepth = 10_000
  public static let depths = 1...100_000

  /// How many celebs a list shows; as many as before if nil.
  public var depth: Int?
  /// Where days end at midnight, by its IANA name; as before if nil.
  public var timeZone: String?
  /// How many days snapshots are kept; nil keeps all.
  public var historyDays: Int?
  /// How many days the places of each day are kept; nil keeps all.
  public var pointDays: Int?
  /// Whether to count everything anew.
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

  /// What one run did.
  public struct Outcome: Sendable, Hashable {
    public let snapshot: Int
    public let computedAt: Date
    /// Whether everything was counted anew.
    public let isRecount: Bool
    /// Celebs whose counts had changed since the snapshot before.
    public let changes: Int
    /// Lists that are others than before.
    public let lists: Int
    /// Celebs whose counts were wrong; only counting anew finds them.
    public let corrected: Int
  }

  /// - Parameter now: the time of the snapshot; nil for the present.
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
    // Last: what writes to `live_events` waits from here to the commit.
    try await transaction.execute("SELECT note_top_tens(\(snapshot))")
    return Outcome(
      snapshot: snapshot, computedAt: computedAt, isRecount: isRecount, changes: changes, lists: lists,
      corrected: corrected)
  }

  /// Forgets snapshots older than `time`, but never the last two: ranks and previous ranks are theirs.
  private func prune(before time: Date, _ transaction: PostgresTransaction) async throws {
    try await transaction.execute("SELECT prune_rankings(\(time))")
  }
}
