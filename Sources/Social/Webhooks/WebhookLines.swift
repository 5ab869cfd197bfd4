import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// The lines of hooks: what waits for one hook about one subject, and the job that delivers it.
public enum WebhookLines {
  /// Locks a hook, and with it its lines.
  ///
  /// - Returns: whether it exists.
  @discardableResult
  public static func lock(_ hook: Int, in transaction: PostgresTransaction) async throws -> Bool {
    try await !transaction.query("SELECT FROM webhooks WHERE id = \(hook) FOR NO KEY UPDATE").isEmpty
  }

  /// Enqueues a job for each line of a locked hook whose turn it is.
  public static func admit(_ hook: Int, in transaction: AppTransaction) async throws {
    let subjects = try await transaction.sql.query("SELECT next_webhook_lines(\(hook))").decode(String.self)
    for subject in subjects {
      try await enqueue(WebhookDelivery(hook: hook, subject: subject), in: transaction)
    }
  }

  /// Enqueues the job of a line, which replaces any other.
  static func enqueue(
    _ delivery: WebhookDelivery, after delay: Duration? = nil, in transaction: AppTransaction
  ) async throws {
    guard let job = try await transaction.enqueue(delivery, options: JobOptions(delay: delay)) else { return }
    try await transaction.sql.execute(
      """
      UPDATE webhook_lines SET job_id = \(PostgresUUID(job))
      WHERE hook_id = \(delivery.hook) AND subject = \(delivery.subject)
      """)
  }

  /// The active hooks that have lines without a job.
  static func open(in transaction: PostgresTransaction) async throws -> [Int] {
    try await transaction.query(
      """
      SELECT id FROM webhooks h WHERE state = 'active'
        AND EXISTS (SELECT FROM webhook_lines l WHERE l.hook_id = h.id AND l.job_id IS NULL)
      ORDER BY id
      """
    ).decode(Int.self)
  }
}
