import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// The oldest event that waits in a line, ready to be sent.
struct WaitingEvent: Sendable {
  let hook: Int
  let url: String
  /// Whether the last attempt at any of the hook's events failed.
  let isHookFailing: Bool
  /// Sealed: the current one, and the former while it signs too.
  let secrets: [[UInt8]]
  let event: Int
  /// The request's body, in JSON.
  let body: [UInt8]

  /// The event's id for receivers: the same with each attempt, and for each hook.
  var id: String { "evt_\(event)" }

  /// Data beyond this are omitted from the body, in bytes.
  static let dataLimit: Int32 = 128 << 10

  /// The state of a job's line.
  enum Line: Sendable {
    /// It belongs to another job, or the hook is deleted.
    case replaced
    /// The hook is not active, or nothing waits.
    case idle
    case waiting(WaitingEvent)
  }

  static func next(
    of hook: Int, about subject: String, for job: JobID, at now: Date, in pool: PostgresPool
  ) async throws -> Line {
    let rows = try await pool.query(
      """
      SELECT h.state = 'active' AND d.event_id IS NOT NULL, h.failures > 0, h.url, h.secret,
        CASE WHEN h.former_until > \(now) THEN h.former_secret END, coalesce(d.event_id, 0),
        coalesce(jsonb_build_object(
          'id', 'evt_' || e.id, 'type', e.type, 'subject', e.subject, 'createdAt', webhook_time(e.created_at),
          'data', CASE WHEN octet_length(e.data::text) > \(dataLimit) THEN '{"isOmitted": true}' ELSE e.data END
        )::text, '')
      FROM webhook_lines l JOIN webhooks h ON h.id = l.hook_id
      LEFT JOIN LATERAL (
        SELECT event_id FROM webhook_deliveries
        WHERE hook_id = l.hook_id AND subject = l.subject AND state = 'waiting' ORDER BY event_id LIMIT 1
      ) d ON true
      LEFT JOIN webhook_events e ON e.id = d.event_id
      WHERE l.hook_id = \(hook) AND l.subject = \(subject) AND l.job_id = \(PostgresUUID(job))
      """
    ).decode(Bool.self, Bool.self, String.self, [UInt8].self, [UInt8]?.self, Int.self, String.self)
    guard let (isReady, isFailing, url, secret, former, event, body) = rows.first else { return .replaced }
    guard isReady else { return .idle }
    return .waiting(
      WaitingEvent(
        hook: hook, url: url, isHookFailing: isFailing, secrets: [secret] + (former.map { [$0] } ?? []), event: event,
        body: Array(body.utf8)))
  }
}
