import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Enforces the maximum age of YouTube data: deletes what is too old, and refreshes what soon will be. Also looks up
/// celebs whose channels were never looked up, and ends lookups whose jobs were given up. Idempotent: a second run
/// finds nothing to do.
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
      let pending = try await transaction.sql.query(
        """
        SELECT account FROM celebs c WHERE state = 'pending' AND platform = 'youtube'
          AND EXISTS (SELECT FROM celeb_fans f WHERE f.celeb_id = c.id AND f.since IS NOT NULL)
          AND NOT EXISTS (SELECT FROM lookups l WHERE l.question = 'id:' || c.account
            AND l.state IN ('waiting', 'running', 'parked'))
        ORDER BY id LIMIT \(100 * YouTubeCall.maxIDs)
        """
      ).decode(String.self)
      let ids = stale + Set(pending).subtracting(stale).sorted()
      for start in stride(from: 0, to: ids.count, by: YouTubeCall.maxIDs) {
        let piece = Array(ids[start..<min(start + YouTubeCall.maxIDs, ids.count)])
        // The oldest channel names the piece, so a pending piece is not enqueued twice.
        try await transaction.enqueue(ChannelRefresh(ids: piece), options: JobOptions(uniqueKey: "refresh:\(piece[0])"))
      }
    }
  }

  /// Deletes in small steps, each in its own transaction, so that no lookup waits long.
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
    while try await pool.execute(ended) == step {}
    while try await pool.execute(answers) == step {}
    while try await deleteChannels(before: date, in: pool) == step {}
    try await pool.execute("DELETE FROM youtube_quota WHERE day < (\(date)::timestamptz AT TIME ZONE 'UTC')::date")
    let shares: PostgresQuery = """
      DELETE FROM youtube_account_quota WHERE (account_id, day, budget) IN (
        SELECT account_id, day, budget FROM youtube_account_quota
        WHERE day < (\(date)::timestamptz AT TIME ZONE 'UTC')::date
        ORDER BY account_id, day, budget LIMIT \(step) FOR UPDATE SKIP LOCKED)
      """
    while try await pool.execute(shares) == step {}
  }

  /// - Returns: how many channels were too old, at most `step`.
  private static func deleteChannels(before date: Date, in pool: PostgresPool) async throws -> Int {
    let old = try await pool.query("SELECT id FROM channels WHERE fetched_at < \(date) ORDER BY id LIMIT \(step)")
      .decode(String.self)
    if old.isEmpty { return 0 }
    _ = try await pool.transaction { transaction in
      try await transaction.pipeline(
        ChannelStore.lock(old) + [
          // An answer that names a deleted channel must not be confirmed by its etag.
          """
          WITH gone AS (DELETE FROM channels WHERE id = ANY(\(old)) AND fetched_at < \(date) RETURNING id)
          UPDATE channel_answers SET etag = NULL
          WHERE etag IS NOT NULL AND channels && (SELECT array_agg(id) FROM gone)
          """
        ])
    }
    return old.count
  }
}

/// Refreshes stored channels and celebs' channels, up to 50 for one unit. Channels that YouTube does not know are
/// deleted, and their celebs become unknown.
public struct ChannelRefresh: Job {
  public static let kind: JobKind = "lookups.refresh"
  public static let queue = SocialJobs.lookupQueue
  public static let retry = RetryPolicy(maxAttempts: 5, base: .seconds(2), cap: .seconds(300))

  public var ids: [String]

  public init(ids: [String]) { self.ids = ids }

  func run(_ youtube: YouTube?, _ context: JobContext<PostgresLedger>) async throws {
    guard let youtube else { throw NoYouTube() }
    // Without a budget or a key, the next upkeep enqueues it again.
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
      // In a separate transaction: with the rows written below locked, two of these could deadlock.
      try await ChannelStore.forget(Set(ids).subtracting(found.channels.map(\.id)), at: date, in: youtube.pool)
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
