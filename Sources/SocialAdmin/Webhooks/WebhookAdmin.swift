import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Social

/// Operators' actions on webhooks.
public struct WebhookAdmin: Sendable {
  public typealias Jobs = JobClient<RedisBroker, PostgresLedger>

  private let database: JobsDatabase

  public init(_ database: JobsDatabase) { self.database = database }

  /// The state of a delivery.
  public enum DeliveryState: String, Sendable, CaseIterable {
    case waiting
    case delivered
    case failed
  }

  /// What a replay sends again.
  public enum Replay: Sendable, Hashable {
    /// One event, such as `evt_12`.
    case event(String)
    /// All events since a time.
    case since(Date)
    /// All that were given up.
    case failed
  }

  // MARK: Reading

  /// All hooks, in the order of their creation.
  public func list() async throws -> [WebhookRecord] {
    try await database.pool.query("SELECT \(unescaped: Self.columns) FROM webhooks h ORDER BY id").map(Self.record)
  }

  /// - Throws: `.notFound`.
  public func show(_ id: Int) async throws -> WebhookRecord { try await show(id, in: database.pool) }

  private func show(_ id: Int, in reader: some SocialReader) async throws -> WebhookRecord {
    let rows = try await reader.rows("SELECT \(unescaped: Self.columns) FROM webhooks h WHERE id = \(id)")
    guard let row = rows.first else { throw Self.missing(id) }
    return try Self.record(row)
  }

  /// A page of a hook's deliveries, newest event first.
  ///
  /// - Parameters:
  ///   - state: nil for all.
  ///   - before: the `next` of an earlier page.
  ///   - limit: 1 to 100,000.
  /// - Throws: `.notFound`, `.usage`.
  public func deliveries(
    of id: Int, in state: DeliveryState? = nil, before: String? = nil, limit: Int = 50
  ) async throws -> WebhookDeliveryPage {
    try OperationError.check(limit: limit)
    let last = try before.map { try Self.event($0) }
    _ = try await show(id)
    let rows = try await database.pool.query(
      """
      SELECT d.event_id, e.type, d.subject, e.created_at, d.state, d.attempts, d.status, d.answer, d.milliseconds,
        d.ended_at
      FROM webhook_deliveries d JOIN webhook_events e ON e.id = d.event_id
      WHERE d.hook_id = \(id) AND (\(last)::bigint IS NULL OR d.event_id < \(last))
        AND (\(state?.rawValue)::text IS NULL OR d.state = \(state?.rawValue))
      ORDER BY d.event_id DESC LIMIT \(limit + 1)
      """)
    let found = try rows.decode(
      Int.self, String.self, String.self, Date.self, String.self, Int32.self, Int32?.self, String?.self, Int32?.self,
      Date?.self
    ).map { event, type, subject, createdAt, state, attempts, status, answer, milliseconds, endedAt in
      WebhookDeliveryRecord(
        event: "evt_\(event)", type: type, subject: subject, createdAt: createdAt, state: state,
        attempts: Int(attempts), status: status.map { Int($0) }, answer: answer,
        milliseconds: milliseconds.map { Int($0) }, endedAt: endedAt)
    }
    let items = Array(found.prefix(limit))
    return WebhookDeliveryPage(items: items, next: found.count > limit ? items.last?.event : nil)
  }

  // MARK: Hooks

  /// Adds a hook, which gets events from now on.
  ///
  /// - Throws: `invalid_url`, `invalid_events`, `.forbidden`.
  public func add(
    _ url: String, events: [String], allowsPrivate: Bool, secrets: WebhookSecrets, by actor: Operator
  ) async throws -> WebhookWithSecret {
    let target = try WebhookURL(url, allowsPrivate: allowsPrivate)
    let types = try WebhookEventType.list(events).map(\.rawValue)
    let secret = WebhookSecret()
    let hook = try await database.pool.transaction { transaction in
      // The secret is sealed for the id.
      let id = try await transaction.query("SELECT nextval(pg_get_serial_sequence('webhooks', 'id'))")[0]
        .decode(Int.self)
      try await transaction.execute(
        """
        INSERT INTO webhooks (id, url, events, secret) OVERRIDING SYSTEM VALUE
        VALUES (\(id), \(target.text), \(types), \(try secrets.seal(secret, of: id)))
        """)
      try await ActionLog(database).record(
        "webhooks.add", "\(id)",
        detail: ["url": WebhookURL.masked(target.text), "events": types.joined(separator: ",")], by: actor,
        in: transaction)
      return try await show(id, in: transaction)
    }
    return WebhookWithSecret(webhook: hook, secret: secret.text)
  }

  /// Gives a hook a new secret. The one before signs too for a day; one before that, no more.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func rotate(_ id: Int, secrets: WebhookSecrets, by actor: Operator) async throws -> WebhookWithSecret {
    let secret = WebhookSecret()
    let hook = try await database.pool.transaction { transaction in
      let touched = try await transaction.execute(
        """
        UPDATE webhooks SET former_secret = secret,
          former_until = now() + make_interval(hours => \(WebhookSecrets.overlapHours)),
          secret = \(try secrets.seal(secret, of: id))
        WHERE id = \(id)
        """)
      guard touched == 1 else { throw Self.missing(id) }
      try await ActionLog(database).record("webhooks.rotate", "\(id)", by: actor, in: transaction)
      return try await show(id, in: transaction)
    }
    return WebhookWithSecret(webhook: hook, secret: secret.text)
  }

  /// Stops deliveries. Events are collected meanwhile.
  ///
  /// - Throws: `.notFound`, `.conflict` if it is not active, `.forbidden`.
  public func pause(_ id: Int, by actor: Operator) async throws -> WebhookRecord {
    try await database.pool.transaction { transaction in
      try await ActionLog(database).record("webhooks.pause", "\(id)", by: actor, in: transaction)
      let touched = try await transaction.execute(
        """
        UPDATE webhooks SET state = 'paused', reason = 'paused by ' || left(\(actor.name), 400),
          changed_at = clock_timestamp()
        WHERE id = \(id) AND state = 'active'
        """)
      let hook = try await show(id, in: transaction)
      guard touched == 1 else { throw OperationError(.conflict, "the webhook \(id) is \(hook.state) already") }
      return hook
    }
  }

  /// Continues deliveries of a paused or disabled hook where they stopped. Its failures are forgotten.
  ///
  /// - Throws: `.notFound`, `.conflict` if it is active, `.forbidden`.
  public func resume(_ id: Int, by actor: Operator, through jobs: Jobs) async throws -> WebhookRecord {
    try await jobs.transaction { transaction in
      let sql = transaction.sql
      try await ActionLog(database).record("webhooks.resume", "\(id)", by: actor, in: sql)
      let touched = try await sql.execute(
        """
        UPDATE webhooks SET state = 'active', reason = NULL, failures = 0, failing_since = NULL,
          changed_at = clock_timestamp()
        WHERE id = \(id) AND state <> 'active'
        """)
      guard touched == 1 else {
        _ = try await show(id, in: sql)
        throw OperationError(.conflict, "the webhook \(id) is active already")
      }
      // Jobs that still wait for another attempt are replaced.
      try await sql.pipeline([
        "UPDATE webhook_lines SET job_id = NULL, failing_since = NULL WHERE hook_id = \(id) AND job_id IS NOT NULL",
        """
        UPDATE webhook_deliveries SET failing_since = NULL
        WHERE hook_id = \(id) AND state = 'waiting' AND failing_since IS NOT NULL
        """,
      ])
      try await WebhookLines.admit(id, in: transaction)
      return try await show(id, in: sql)
    }
  }

  /// Deletes a hook with its deliveries.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func delete(_ id: Int, by actor: Operator) async throws -> WebhookRecord {
    try await database.pool.transaction { transaction in
      try await WebhookLines.lock(id, in: transaction)
      let hook = try await show(id, in: transaction)
      try await ActionLog(database).record(
        "webhooks.delete", "\(id)", detail: ["url": hook.url], by: actor, in: transaction)
      try await transaction.execute("DELETE FROM webhooks WHERE id = \(id)")
      return hook
    }
  }

  // MARK: Events

  /// Sends events again that were delivered or given up, each with its id.
  ///
  /// - Parameter batch: how many are taken in one transaction; until it ends, the webhook gets no other events.
  /// - Returns: how many.
  /// - Throws: `.notFound`, `.usage`, `.conflict` for a disabled hook, `.forbidden`.
  public func replay(
    _ id: Int, _ replay: Replay, batch: Int32 = 10_000, by actor: Operator, through jobs: Jobs
  ) async throws -> Int {
    var event: Int?
    var since: Date?
    var detail: [String: String] = [:]
    switch replay {
    case .event(let name):
      event = try Self.event(name)
      detail["event"] = name
    case .since(let date):
      since = date
      detail["since"] = date.formatted(Date.ISO8601FormatStyle())
    case .failed: detail["events"] = "failed"
    }
    let (onlyEvent, start, isFailedOnly, said) = (event, since, replay == .failed, detail)
    // What is delivered meanwhile is not sent once more.
    let until = try await database.pool.query(
      "SELECT coalesce(max(event_id), 0) FROM webhook_deliveries WHERE hook_id = \(id)")[0].decode(Int.self)
    var total = 0
    var next: Int? = 0
    while let past = next {
      let (count, last) = try await jobs.transaction { transaction -> (Int, Int?) in
        let sql = transaction.sql
        if past == 0 {
          try await ActionLog(database).record("webhooks.replay", "\(id)", detail: said, by: actor, in: sql)
        }
        try await WebhookLines.lock(id, in: sql)
        let hook = try await show(id, in: sql)
        guard hook.state != "disabled" else {
          throw OperationError(
            .conflict, "the webhook \(id) is disabled: \(hook.reason ?? ""); `fanmill webhooks resume \(id)` first")
        }
        let (replayed, end) = try await sql.query(
          """
          SELECT replayed, last FROM replay_webhook(
            \(id), \(onlyEvent), \(start), \(isFailedOnly), \(past), \(until), \(batch))
          """)[0].decode(Int32.self, Int?.self)
        if let onlyEvent, replayed == 0 { throw try await absence(of: onlyEvent, for: id, in: sql) }
        try await WebhookLines.admit(id, in: transaction)
        return (Int(replayed), end)
      }
      total += count
      next = last
    }
    return total
  }

  private func absence(of event: Int, for id: Int, in sql: PostgresTransaction) async throws -> OperationError {
    let states = try await sql.query(
      "SELECT state FROM webhook_deliveries WHERE hook_id = \(id) AND event_id = \(event)"
    ).decode(String.self)
    if states.isEmpty { return OperationError(.notFound, "the webhook \(id) has no event evt_\(event)") }
    return OperationError(.conflict, "the event evt_\(event) still waits for its delivery")
  }

  /// Sends a test event to a hook alone.
  ///
  /// - Returns: the event's id for receivers.
  /// - Throws: `.notFound`, `.conflict` if it is not active, `.forbidden`.
  public func test(_ id: Int, by actor: Operator, through jobs: Jobs) async throws -> String {
    try await jobs.transaction { transaction in
      let sql = transaction.sql
      try await ActionLog(database).record("webhooks.test", "\(id)", by: actor, in: sql)
      let hook = try await show(id, in: sql)
      guard hook.state == "active" else {
        throw OperationError(.conflict, "the webhook \(id) is \(hook.state): `fanmill webhooks resume \(id)` first")
      }
      let event = try await sql.query(
        """
        INSERT INTO webhook_events (type, subject, data, hook_id)
        VALUES (\(WebhookEventType.test), 'webhook/' || \(id),
          jsonb_build_object('webhook', jsonb_build_object('id', \(id))), \(id))
        RETURNING id
        """)[0].decode(Int.self)
      try await transaction.enqueue(WebhookDispatch(), options: JobOptions(priority: .high))
      return "evt_\(event)"
    }
  }

  // MARK: Forms

  private static func missing(_ id: Int) -> OperationError {
    OperationError(.notFound, "there is no webhook \(id): `fanmill webhooks list` shows them")
  }

  private static func event(_ name: String) throws(OperationError) -> Int {
    guard name.hasPrefix("evt_"), let id = EntityID.parse(name.dropFirst(4)) else {
      throw OperationError(.usage, "'\(name)' is not an event's id, such as evt_12")
    }
    return id
  }

  private static let columns = """
    h.id, h.url, h.events, h.state, h.reason, h.changed_at, h.created_at, h.delivered_at, h.failures, h.failing_since,
    (SELECT count(*) FROM (
      SELECT FROM webhook_deliveries d WHERE d.hook_id = h.id AND d.state = 'waiting' LIMIT 10000) w),
    (SELECT e.created_at FROM webhook_events e
      WHERE e.id = (SELECT min(l.first_event) FROM webhook_lines l WHERE l.hook_id = h.id)),
    CASE WHEN h.former_until > now() THEN h.former_until END
    """

  private static func record(_ row: PostgresRow) throws -> WebhookRecord {
    WebhookRecord(
      id: try Int(postgres: row[0]), url: WebhookURL.masked(try String(postgres: row[1])),
      events: try [String](postgres: row[2]), state: try String(postgres: row[3]),
      reason: try String?(postgres: row[4]), changedAt: try Date(postgres: row[5]),
      createdAt: try Date(postgres: row[6]), deliveredAt: try Date?(postgres: row[7]),
      failures: Int(try Int32(postgres: row[8])), failingSince: try Date?(postgres: row[9]),
      waiting: try Int(postgres: row[10]), oldestWaiting: try Date?(postgres: row[11]),
      formerSecretUntil: try Date?(postgres: row[12]))
  }
}
