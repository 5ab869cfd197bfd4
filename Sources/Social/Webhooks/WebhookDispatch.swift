import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Gives hooks their deliveries of new events, and starts the deliveries.
///
/// Each event has such a job, but a job takes whatever events are there: the oldest first, one dispatch at a time.
public struct WebhookDispatch: Job {
  public static let kind: JobKind = "webhooks.dispatch"
  public static let queue = SocialJobs.webhookQueue

  /// How many jobs run together, and how many events they take.
  static let batchLimit = 500

  public init() {}

  @Sendable
  static func runAll(_ batch: [BatchedJob<WebhookDispatch>], in transaction: AppTransaction) async throws {
    try await run(in: transaction)
  }

  static func run(in transaction: AppTransaction) async throws {
    let taken = try await transaction.sql.query("SELECT dispatch_webhook_events(\(Int32(batchLimit)))")[0]
      .decode(Int32.self)
    if taken == 0 { return }
    // The dispatch holds the locks of all hooks.
    for hook in try await WebhookLines.open(in: transaction.sql) {
      try await WebhookLines.admit(hook, in: transaction)
    }
    if taken == batchLimit {
      try await transaction.enqueue(WebhookDispatch(), options: JobOptions(priority: .high))
    }
  }
}
