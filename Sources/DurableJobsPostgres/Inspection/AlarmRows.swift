#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// An alarm of a queue.
package struct AlarmRow: Sendable, Hashable {
  package let id: JobID
  package let queue: String
  /// The time that passed its limit: `waiting` or `running`.
  package let what: String
  /// In seconds.
  package let limit: Double
  /// The measured time when the limit was found exceeded, in seconds.
  package let seconds: Double
  package let openedAt: Date
  package let closedAt: Date?

  package init(
    id: JobID, queue: String, what: String, limit: Double, seconds: Double, openedAt: Date, closedAt: Date? = nil
  ) {
    self.id = id
    self.queue = queue
    self.what = what
    self.limit = limit
    self.seconds = seconds
    self.openedAt = openedAt
    self.closedAt = closedAt
  }

  fileprivate static let columns = "id, queue, what, limit_seconds, seconds, opened_at, closed_at"

  fileprivate init(_ row: PostgresRow) throws {
    id = JobID(try row.decode(PostgresUUID.self, named: "id"))
    queue = try row.decode(String.self, named: "queue")
    what = try row.decode(String.self, named: "what")
    limit = try row.decode(Double.self, named: "limit_seconds")
    seconds = try row.decode(Double.self, named: "seconds")
    openedAt = try row.decode(Date.self, named: "opened_at")
    closedAt = try row.decode(Date?.self, named: "closed_at")
  }
}

/// Alarms. A unique index allows one open alarm of each kind per queue.
extension JobsDatabase {
  /// The open alarms, by queue.
  package func openAlarms() async throws -> [AlarmRow] {
    try await pool.query(
      "SELECT \(unescaped: AlarmRow.columns) FROM \(schema.alarms) WHERE closed_at IS NULL ORDER BY queue, what"
    ).map { try AlarmRow($0) }
  }

  /// Opens an alarm unless one of its kind is open.
  ///
  /// - Parameter isNotified: whether its messages are not to be delivered.
  /// - Returns: whether this call opened it.
  package func open(_ alarm: AlarmRow, isNotified: Bool) async throws -> Bool {
    try await pool.execute(
      """
      INSERT INTO \(schema.alarms) (id, queue, what, limit_seconds, seconds, opened_at, opening_told, closing_told)
      VALUES (\(PostgresUUID(alarm.id)), \(alarm.queue), \(alarm.what), \(alarm.limit), \(alarm.seconds),
        \(alarm.openedAt), \(isNotified), \(isNotified))
      ON CONFLICT (queue, what) WHERE closed_at IS NULL DO NOTHING
      """) == 1
  }

  /// - Returns: whether this call closed it.
  package func closeAlarm(_ id: JobID, at now: Date) async throws -> Bool {
    try await pool.execute(
      "UPDATE \(schema.alarms) SET closed_at = \(now) WHERE id = \(PostgresUUID(id)) AND closed_at IS NULL") == 1
  }

  /// Deletes alarms that closed before `date`.
  package func forgetAlarms(before date: Date) async throws {
    try await pool.execute("DELETE FROM \(schema.alarms) WHERE closed_at < \(date)")
  }

  /// The oldest alarm with an undelivered message; an alarm's opening comes before its end.
  package func undeliveredAlarm() async throws -> (alarm: AlarmRow, isOpeningDelivered: Bool)? {
    try await pool.query(
      """
      SELECT \(unescaped: AlarmRow.columns), opening_told FROM \(schema.alarms)
      WHERE NOT (opening_told AND closing_told) AND (NOT opening_told OR closed_at IS NOT NULL)
      ORDER BY opened_at, id LIMIT 1
      """
    ).first.map { (try AlarmRow($0), try $0.decode(Bool.self, named: "opening_told")) }
  }

  /// Records the delivery of an alarm's message: of its opening, or of its end.
  package func noteDelivery(of id: JobID, isOpening: Bool) async throws {
    try await pool.execute(
      isOpening
        ? "UPDATE \(schema.alarms) SET opening_told = true WHERE id = \(PostgresUUID(id))"
        : "UPDATE \(schema.alarms) SET closing_told = true WHERE id = \(PostgresUUID(id))")
  }
}
