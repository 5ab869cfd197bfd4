import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Keeps to the age that what YouTube said may have: deletes what is too old, and owes the refreshing of what soon
/// would be. Also ends lookups whose jobs were given up. Idempotent: run twice, the second finds nothing to do.
public struct LookupUpkeep: Job {
  public static let kind: JobKind = "lookups.upkeep"
  public static let queue = SocialJobs.lookupQueue
  static let step = 1000

  public init() {}

  func run(_ youtube: YouTube?, _ context: JobContext<PostgresLedger>) async throws {
    guard let youtube else { throw NoYouTube() }
    let date = youtube.now()
    try await Self.deleteOld(before: date.addingTimeInterval(-youtube.rules.keep), in: youtube.pool)
    try await context.transaction { transaction in
      try await transaction.sql.execute(Lookups.endAbandoned(nil, at: date, context.ledger.database.schema))
      let stale = try await transaction.sql.query(
        """
        SELECT id FROM channels WHERE fetched_at < \(date.addingTimeInterval(-youtube.rules.refresh))
        ORDER BY fetched_at LIMIT \(100 * YouTubeCall.maxIDs)
        """
      ).decode(String.self)
      for start in stride(from: 0, to: stale.count, by: YouTubeCall.maxIDs) {
        let ids = Array(stale[start..<min(start + YouTubeCall.maxIDs, stale.count)])
        // The oldest one names the piece: a piece that is pending already is not pending twice.
        try await transaction.enqueue(ChannelRefresh(ids: ids), options: JobOptions(uniqueKey: "refresh:\(ids[0])"))
      }
    }
  }

  /// In small steps, each a transaction of its own, so that no lookup waits for long.
  private static func deleteOld(before date: Date, in pool: PostgresPool) async throws {
    let ended: PostgresQuery = """
      DELETE FROM lookups WHERE id IN (
        SELECT id FROM lookups WHERE ended_at < \(date) ORDER BY id LIMIT \(step) FOR UPDATE SKIP LOCKED)
      """
    let answers: PostgresQuery = """
      DELETE FROM channel_answers WHERE question IN (
        SELECT question FROM channel_answers answer
        WHERE fetched_at < \(date) AND NOT EXISTS (
          SELECT FROM lookups l WHERE l.question = answer.question AND l.state IN ('waiting', 'running', 'parked'))
        ORDER BY question LIMIT \(step) FOR UPDATE SKIP LOCKED)
      """
    // An answer that names a channel which is gone from here is not to be confirmed by its etag.
    let channels: PostgresQuery = """
      WITH gone AS (
        DELETE FROM channels WHERE id IN (
          SELECT id FROM channels WHERE fetched_at < \(date) ORDER BY id LIMIT \(step) FOR UPDATE SKIP LOCKED)
        RETURNING id
      ), unmarked AS (
        UPDATE channel_answers SET etag = NULL
        WHERE etag IS NOT NULL AND channels && (SELECT array_agg(id) FROM gone)
      )
      SELECT count(*) FROM gone
      """
    while try await pool.execute(ended) == step {}
    while try await pool.execute(answers) == step {}
    while try await pool.query(channels)[0].decode(Int.self) == step {}
    try await pool.execute("DELETE FROM youtube_quota WHERE day < (\(date)::timestamptz AT TIME ZONE 'UTC')::date")
    let shares: PostgresQuery = """
      DELETE FROM youtube_account_quota WHERE (account_id, day, budget) IN (
        SELECT account_id, day, budget FROM youtube_account_quota
        WHERE day < (\(date)::timestamptz AT TIME ZONE 'UTC')::date
        ORDER BY account_id, day, budget LIMIT \(step) FOR UPDATE SKIP LOCKED)
      """
    while try await pool.execute(shares) == step {}
  }
}

/// Asks for channels again that are kept: up to 50, for one unit. Those that YouTube does not know any more are
/// deleted.
public struct ChannelRefresh: Job {
  public static let kind: JobKind = "lookups.refresh"
  public static let queue = SocialJobs.lookupQueue
  public static let retry = RetryPolicy(maxAttempts: 5, base: .seconds(2), cap: .seconds(300))

  public var ids: [String]

  public init(ids: [String]) { self.ids = ids }

  func run(_ youtube: YouTube?, _ context: JobContext<PostgresLedger>) async throws {
    guard let youtube else { throw NoYouTube() }
    // Without a budget, or a key, the next upkeep owes it again.
    guard let ticket = try await youtube.reserve(1, isSearch: false).first else { return }
    let reply = try await youtube.ask(.channels(Array(ids.prefix(YouTubeCall.maxIDs))), paying: ticket)
    var failure: LookupFailure?
    var answer: YouTubeAnswer?
    switch reply.outcome {
    case .answered(let found): answer = found
    case .refused(let reason), .failed(let reason): failure = reason
    case .notModified, .spent, .noKey: break
    }
    if let failure {
      try await youtube.ledger.settle(reply.uses)
      throw failure
    }
    let (found, date) = (answer, youtube.now())
    if let found {
      // By itself: with the rows that are written below locked, two of these could wait for each other.
      let gone = Set(ids).subtracting(found.channels.map(\.id)).sorted()
      try await youtube.pool.execute("DELETE FROM channels WHERE id = ANY(\(gone)) AND fetched_at < \(date)")
    }
    try await context.transaction { transaction in
      if let found {
        try await transaction.sql.pipeline(
          ChannelStore.keep(channels: found.channels.map { ($0, true) }, at: date))
      }
      try await QuotaLedger.settle(reply.uses, in: transaction.sql)
    }
  }
}
