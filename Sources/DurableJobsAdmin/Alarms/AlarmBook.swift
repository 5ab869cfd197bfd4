import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// The alarms in Postgres: the table `alarms` (`migrations/0023_alarms.sql`).
///
/// At most one of a kind is open for a queue, by a unique index: whoever looks, and however often, one writes the row,
/// and is the one to tell of it.
public struct AlarmBook: Sendable {
  /// How long the oldest job of a queue waits and runs now.
  public struct Reading: Sendable, Hashable {
    public var queue: String
    /// In seconds; nil where none does.
    public var waiting: Double?
    public var running: Double?
    /// Whether an operator has paused it: then its jobs are meant to wait.
    public var isPaused: Bool

    public init(queue: String, waiting: Double? = nil, running: Double? = nil, isPaused: Bool = false) {
      self.queue = queue
      self.waiting = waiting
      self.running = running
      self.isPaused = isPaused
    }

    func seconds(_ concern: Alarm.Concern) -> Double {
      switch concern {
      case .waiting: isPaused ? 0 : waiting ?? 0
      case .running: running ?? 0
      }
    }
  }

  /// The part of its limit below which an alarm is over: a queue that stays at its limit does not come and go.
  private static let over = 0.8

  private let pool: PostgresPool
  private let limits: AlarmLimits
  private let isDelivered: Bool

  /// - Parameter isDelivered: whether alarms are delivered somewhere, not logged alone.
  public init(pool: PostgresPool, limits: AlarmLimits, isDelivered: Bool) {
    self.pool = pool
    self.limits = limits
    self.isDelivered = isDelivered
  }

  /// Opens what has passed its limit and closes what is within it again; a queue without a reading is left as it is.
  ///
  /// - Returns: what was opened and closed by this very call.
  public func judge(_ readings: [Reading], at now: Date) async throws -> [Alarm] {
    let known = try await open()
    var changed: [Alarm] = []
    for reading in readings {
      for concern in Alarm.Concern.allCases {
        let limit = limits.limit(of: reading.queue, concern)
        let seconds = reading.seconds(concern)
        if let open = known.first(where: { $0.queue == reading.queue && $0.concern == concern }) {
          if let limit, seconds > limit * Self.over { continue }
          if let closed = try await close(open, at: now) { changed.append(closed) }
        } else if let limit, seconds > limit {
          let alarm = Alarm(
            id: .next(), queue: reading.queue, concern: concern, limit: limit, seconds: seconds, openedAt: now)
          if try await add(alarm) { changed.append(alarm) }
        }
      }
    }
    return changed
  }

  /// Those that are not over.
  public func open() async throws -> [Alarm] {
    try await pool.query(
      "SELECT \(unescaped: Self.columns) FROM alarms WHERE closed_at IS NULL ORDER BY queue, what"
    ).map { try Self.alarm($0) }
  }

  private func add(_ alarm: Alarm) async throws -> Bool {
    try await pool.execute(
      """
      INSERT INTO alarms (id, queue, what, limit_seconds, seconds, opened_at, opening_told, closing_told)
      VALUES (\(PostgresUUID(alarm.id)), \(alarm.queue), \(alarm.concern.rawValue), \(alarm.limit), \(alarm.seconds),
        \(alarm.openedAt), \(!isDelivered), \(!isDelivered))
      ON CONFLICT (queue, what) WHERE closed_at IS NULL DO NOTHING
      """) == 1
  }

  private func close(_ alarm: Alarm, at now: Date) async throws -> Alarm? {
    let closed = try await pool.execute(
      "UPDATE alarms SET closed_at = \(now) WHERE id = \(PostgresUUID(alarm.id)) AND closed_at IS NULL")
    guard closed == 1 else { return nil }
    var over = alarm
    over.closedAt = now
    return over
  }

  /// Forgets what was over before `date`.
  public func forget(before date: Date) async throws {
    try await pool.execute("DELETE FROM alarms WHERE closed_at < \(date)")
  }

  // MARK: Messages

  /// The oldest message that is not delivered yet: of an alarm its opening, as it was then, before its end.
  func untold() async throws -> Alarm? {
    let rows = try await pool.query(
      """
      SELECT \(unescaped: Self.columns), opening_told FROM alarms
      WHERE NOT (opening_told AND closing_told) AND (NOT opening_told OR closed_at IS NOT NULL)
      ORDER BY opened_at, id LIMIT 1
      """)
    guard let row = rows.first else { return nil }
    var alarm = try Self.alarm(row)
    if try !row.decode(Bool.self, named: "opening_told") { alarm.closedAt = nil }
    return alarm
  }

  func told(_ message: Alarm) async throws {
    let id = PostgresUUID(message.id)
    try await pool.execute(
      message.closedAt == nil
        ? "UPDATE alarms SET opening_told = true WHERE id = \(id)"
        : "UPDATE alarms SET closing_told = true WHERE id = \(id)")
  }

  private static let columns = "id, queue, what, limit_seconds, seconds, opened_at, closed_at"

  private static func alarm(_ row: PostgresRow) throws -> Alarm {
    Alarm(
      id: JobID(try row.decode(PostgresUUID.self, named: "id")), queue: try row.decode(String.self, named: "queue"),
      concern: Alarm.Concern(rawValue: try row.decode(String.self, named: "what")) ?? .waiting,
      limit: try row.decode(Double.self, named: "limit_seconds"),
      seconds: try row.decode(Double.self, named: "seconds"), openedAt: try row.decode(Date.self, named: "opened_at"),
      closedAt: try row.decode(Date?.self, named: "closed_at"))
  }
}
