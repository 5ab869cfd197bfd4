import DurableJobs
import DurableJobsPostgres
import LibPQClient
import Logging

/// Sends the oldest event of a line, once. What follows, another attempt or the next line, is another job, enqueued in
/// the transaction that ends this one.
///
/// An event is sent at least once, with its id: a worker that dies after sending has not recorded it.
public struct WebhookDelivery: Job {
  public static let kind: JobKind = "webhooks.deliver"
  public static let queue = SocialJobs.webhookQueue
  /// For failures of this server. Those of receivers are no errors of the job.
  public static let retry = RetryPolicy(maxAttempts: 1000, base: .seconds(1), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(60)

  public var hook: Int
  public var subject: String

  public init(hook: Int, subject: String) {
    self.hook = hook
    self.subject = subject
  }

  func run(_ sender: WebhookSender?, _ context: JobContext<PostgresLedger>) async throws {
    guard let sender else { throw NoWebhookSender() }
    let line = try await WaitingEvent.next(
      of: hook, about: subject, for: context.id, at: sender.now(), in: context.ledger.database.pool)
    switch line {
    case .replaced: return
    case .idle: try await context.transaction { try await leave(context.id, in: $0) }
    case .waiting(let event):
      let attempt = try await sender.send(event)
      try await context.transaction { try await end(event, attempt, sender, context, in: $0) }
    }
  }

  private func leave(_ job: JobID, in transaction: AppTransaction) async throws {
    guard try await WebhookLines.lock(hook, in: transaction.sql) else { return }
    try await transaction.sql.execute(
      """
      SELECT free_webhook_line(\(hook), \(subject)) FROM webhook_lines
      WHERE hook_id = \(hook) AND subject = \(subject) AND job_id = \(PostgresUUID(job))
      """)
    try await WebhookLines.admit(hook, in: transaction)
  }

  private func end(
    _ event: WaitingEvent, _ attempt: WebhookAttempt, _ sender: WebhookSender, _ context: JobContext<PostgresLedger>,
    in transaction: AppTransaction
  ) async throws {
    let (next, attempts) = try await transaction.sql.query(
      """
      SELECT next, attempt FROM end_webhook_attempt(\(hook), \(subject), \(PostgresUUID(context.id)), \(event.event),
        \(attempt.outcome.rawValue), \(attempt.status.map { Int32(clamping: $0) }), \(attempt.text),
        \(Int32(clamping: attempt.milliseconds)), \(sender.now()), make_interval(secs => \(WebhookSender.patience)))
      """)[0].decode(String.self, Int32.self)
    WebhookMetrics.shared.count(next)
    let metadata: Logger.Metadata = ["webhook": "\(hook)", "event": "\(event.id)"]
    switch next {
    case "replaced": return
    case "retry":
      var random = SystemRandomNumberGenerator()
      let pause = sender.pauses.delay(afterAttempt: Int(attempts), using: &random)
      try await WebhookLines.enqueue(self, after: pause, in: transaction)
    case "paused":
      context.logger.error(
        "a webhook is paused: none of its deliveries succeeded for a day", metadata: metadata)
      try await transaction.enqueue(WebhookAlarm(hook: hook))
    case "disabled": context.logger.warning("a webhook is disabled: its receiver answered 410", metadata: metadata)
    case "failed": context.logger.warning("a webhook's event was not accepted for a day", metadata: metadata)
    default: break
    }
    try await WebhookLines.admit(hook, in: transaction)
  }
}

/// A process without a key for webhooks received one of their jobs.
struct NoWebhookSender: Error, CustomStringConvertible {
  let description = "this worker cannot sign webhooks: FANMILL_CERTIFICATE_KEY is not set"
}
