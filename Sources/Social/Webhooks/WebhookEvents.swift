import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Writes events for webhooks in the transactions that cause them, where a hook asks for their type.
///
/// The condition is part of the causing statement and reads the table of hooks, so an app without hooks pays for a look
/// at an empty table. `migrations/0062_webhooks.sql` describes the order of events.
enum WebhookEvents {
  /// Whether a hook asks for a type of event.
  static func isWanted(_ type: WebhookEventType) -> PostgresQuery {
    PostgresQuery(
      unescaped: "EXISTS (SELECT FROM webhooks WHERE state <> 'disabled' AND '\(type.rawValue)' = ANY (events))")
  }

  /// The part `hooked` of a WITH clause, which writes an event for each row of an earlier part. The transaction then
  /// calls `dispatch`.
  ///
  /// - Parameters:
  ///   - subject: an expression. Events of one subject arrive in order.
  ///   - data: an expression of type `jsonb`.
  ///   - account: an expression for the id of an account that the data shows by more than its id.
  ///   - other: likewise, for a second account.
  ///   - source: the earlier part's name.
  static func hooked(
    _ type: WebhookEventType, about subject: String, _ data: String, account: String = "0", other: String = "0",
    from source: String
  ) -> PostgresQuery {
    """
    hooked AS (
      INSERT INTO webhook_events (type, subject, data, account_id, other_id)
      SELECT '\(unescaped: type.rawValue)', \(unescaped: subject), \(unescaped: data), \(unescaped: account),
        \(unescaped: other)
      FROM \(unescaped: source) WHERE \(isWanted(type)) RETURNING 1
    )
    """
  }

  /// Whether `hooked` wrote an event.
  static var isHooked: PostgresQuery { "EXISTS (SELECT FROM hooked)" }

  /// Enqueues the dispatch of the events that a statement has written.
  static func dispatch(_ isHooked: Bool, in transaction: AppTransaction) async throws {
    if isHooked { try await transaction.enqueue(WebhookDispatch(), options: JobOptions(priority: .high)) }
  }

  /// An expression that writes an event and enqueues its dispatch, for what happens rarely and has no transaction with
  /// jobs. Parameters as for `hooked`.
  static func noting(
    _ type: WebhookEventType, about subject: String, _ data: String, account: String = "0"
  ) -> PostgresQuery {
    """
    CASE WHEN \(isWanted(type)) THEN note_webhook_event('\(unescaped: type.rawValue)', \(unescaped: subject),
      \(unescaped: data), \(unescaped: account)) ELSE false END
    """
  }

  /// An account's id as data.
  static func bare(_ account: String) -> String { "jsonb_build_object('id', \(account))" }
}
