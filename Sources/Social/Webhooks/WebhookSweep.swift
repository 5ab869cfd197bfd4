import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Deletes old events with their deliveries, and repairs what operators or dead letters left without a job.
public struct WebhookSweep: Job {
  public static let kind: JobKind = "webhooks.sweep"
  public static let queue = SocialJobs.webhookQueue
  static let batch = 1000
  /// How many events that wait for a disabled hook are given up at a time.
  private static let abandonBatch = 10_000

  /// How many days events and deliveries are kept.
  public var days: Int

  public init(days: Int) { self.days = days }

  func run(in transaction: AppTransaction) async throws {
    let sql = transaction.sql
    // First the hooks' locks, then events, as a dispatch does.
    let isRepaired = try await Self.repair(in: transaction)
    try await sql.execute(
      "UPDATE webhooks SET former_secret = NULL, former_until = NULL WHERE former_until < now()")
    // Of events that still wait, only those go that have no active hook. An event without a dispatch may have one.
    let old = try await sql.execute(
      """
      DELETE FROM webhook_events WHERE id = ANY (ARRAY(
        SELECT id FROM webhook_events e
        WHERE is_dispatched AND created_at < now() - make_interval(days => \(Int32(clamping: days))) AND NOT EXISTS (
          SELECT FROM webhook_deliveries d JOIN webhooks h ON h.id = d.hook_id
          WHERE d.event_id = e.id AND d.state = 'waiting' AND h.state = 'active')
        ORDER BY created_at LIMIT \(Self.batch)))
      """)
    if old == Self.batch || !isRepaired { try await transaction.enqueue(self) }
  }

  /// Gives each line a job whose own is gone, dispatches what waits for a dispatch, and gives up what waits for disabled
  /// hooks.
  ///
  /// While it holds a hook's lock, it writes a few lines at a time, however large the backlog: dispatches wait for it.
  ///
  /// - Returns: whether nothing is left to give up.
  private static func repair(in transaction: AppTransaction) async throws -> Bool {
    let sql = transaction.sql
    // Reads a large backlog for seconds, so before any lock.
    let incomplete = Set(
      try await sql.query(
        """
        SELECT DISTINCT hook_id FROM webhook_deliveries d WHERE state = 'waiting' AND NOT EXISTS (
          SELECT FROM webhook_lines l WHERE l.hook_id = d.hook_id AND l.subject = d.subject)
        """, timeout: .seconds(240)
      ).decode(Int.self))
    try await WebhookDispatch.run(in: transaction)
    var isRepaired = true
    let hooks = try await sql.query("SELECT id FROM webhooks ORDER BY id").decode(Int.self)
    for hook in hooks where try await WebhookLines.lock(hook, in: sql) {
      try await sql.pipeline([
        // A line whose first event was swept or given up ends, or goes on with the next.
        """
        SELECT free_webhook_line(\(hook), subject) FROM (
          SELECT subject, first_event FROM webhook_lines WHERE hook_id = \(hook) AND job_id IS NULL
          ORDER BY first_event LIMIT \(batch)
        ) oldest WHERE NOT EXISTS (
          SELECT FROM webhook_deliveries d
          WHERE d.hook_id = \(hook) AND d.event_id = oldest.first_event AND d.state = 'waiting')
        """,
        """
        UPDATE webhook_lines l SET job_id = NULL, failing_since = NULL
        WHERE hook_id = \(hook) AND job_id IS NOT NULL
          AND NOT \(unescaped: JobsSchema.standard.isPending("l.job_id", in: SocialJobs.webhookQueue))
        """,
      ])
      let givenUp = try await sql.query(
        """
        SELECT abandon_webhook_lines(id, clock_timestamp(), \(Int32(abandonBatch))) FROM webhooks
        WHERE id = \(hook) AND state = 'disabled'
        """
      ).decode(Int32.self)
      if let givenUp = givenUp.first {
        if givenUp == abandonBatch { isRepaired = false }
        continue
      }
      if incomplete.contains(hook) {
        try await sql.execute(
          """
          INSERT INTO webhook_lines (hook_id, subject, first_event)
          SELECT hook_id, subject, min(event_id) FROM webhook_deliveries d
          WHERE hook_id = \(hook) AND state = 'waiting' AND NOT EXISTS (
            SELECT FROM webhook_lines l WHERE l.hook_id = d.hook_id AND l.subject = d.subject)
          GROUP BY hook_id, subject
          """)
      }
      try await WebhookLines.admit(hook, in: transaction)
    }
    return isRepaired
  }
}
