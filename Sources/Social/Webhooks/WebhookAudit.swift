import DurableJobsPostgres
import LibPQClient

/// Finds events that no job will deliver.
public struct WebhookAudit: Sendable, Hashable {
  /// Deliveries that wait for an active hook.
  public let waiting: Int
  /// Of them, those whose line has no job although it is its turn, or whose job is gone.
  public let stranded: Int
  /// Events that wait for a dispatch although none is pending.
  public let undispatched: Int

  public var isClean: Bool { stranded == 0 && undispatched == 0 }

  /// Counts in one snapshot, regardless of concurrent writes.
  public static func run(on pool: PostgresPool) async throws -> WebhookAudit {
    try await pool.transaction(.snapshot) { transaction in
      let waiting = try await transaction.query(
        """
        SELECT count(*) FROM webhook_deliveries d JOIN webhooks h ON h.id = d.hook_id
        WHERE d.state = 'waiting' AND h.state = 'active'
        """)[0].decode(Int.self)
      let stranded = try await transaction.query(
        """
        WITH turns AS (
          SELECT h.id, subject FROM webhooks h, LATERAL next_webhook_lines(h.id) subject WHERE h.state = 'active'
        )
        SELECT count(*) FROM webhook_deliveries d JOIN webhooks h ON h.id = d.hook_id AND h.state = 'active'
        LEFT JOIN webhook_lines l ON l.hook_id = d.hook_id AND l.subject = d.subject
        WHERE d.state = 'waiting' AND CASE
          WHEN l.hook_id IS NULL THEN true
          WHEN l.job_id IS NULL THEN (h.id, l.subject) IN (SELECT id, subject FROM turns)
          ELSE NOT \(unescaped: JobsSchema.standard.isPending("l.job_id", in: SocialJobs.webhookQueue)) END
        """, timeout: .seconds(600))[0].decode(Int.self)
      let undispatched = try await transaction.query(
        """
        SELECT count(*) FROM webhook_events WHERE NOT is_dispatched AND NOT \(
          unescaped: JobsSchema.standard.isPending(WebhookDispatch.kind, in: SocialJobs.webhookQueue))
        """)[0].decode(Int.self)
      return WebhookAudit(waiting: waiting, stranded: stranded, undispatched: undispatched)
    }
  }
}
