#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// The states of schedules in Postgres, in the tables `schedules` and `schedule_ticks` of a queue's schema.
public struct PostgresScheduleStore: ScheduleStore {
  public typealias Transaction = PostgresTransaction

  private let database: JobsDatabase

  public init(_ database: JobsDatabase) { self.database = database }

  /// - Parameters:
  ///   - pool: its `run()` must be running.
  ///   - schema: the schema with the tables.
  public init(pool: PostgresPool, schema: JobsSchema = .standard) {
    self.init(JobsDatabase(pool: pool, schema: schema))
  }

  private var pool: PostgresPool { database.pool }
  private var schema: JobsSchema { database.schema }

  /// The columns of a state; times as milliseconds since 1970.
  private static let columns = """
    name, timing, kind, paused, (extract(epoch FROM decided_until) * 1000)::bigint,
    (extract(epoch FROM last_tick) * 1000)::bigint, (extract(epoch FROM next_tick) * 1000)::bigint
    """

  public func states() async throws -> [ScheduleState] {
    try await pool.query("SELECT \(unescaped: Self.columns) FROM \(schema.schedules) ORDER BY name").map {
      try Self.state($0)
    }
  }

  public func lock(_ beginning: ScheduleState, in transaction: PostgresTransaction) async throws -> ScheduleState {
    let queries: [PostgresQuery] = [
      """
      INSERT INTO \(schema.schedules) (name, timing, kind, paused, decided_until, last_tick, next_tick)
      VALUES (\(beginning.name.rawValue), \(beginning.timing), \(beginning.kind.rawValue), \(beginning.isPaused),
        to_timestamp(\(beginning.decidedUntil.unixMilliseconds) / 1000.0), to_timestamp(\(beginning.lastTick?.unixMilliseconds) / 1000.0),
        to_timestamp(\(beginning.nextTick?.unixMilliseconds) / 1000.0))
      ON CONFLICT DO NOTHING
      """,
      "SELECT \(unescaped: Self.columns) FROM \(schema.schedules) WHERE name = \(beginning.name.rawValue) FOR UPDATE",
    ]
    guard let rows = try await transaction.pipeline(queries, lockLimit: ScheduleError.lockLimit) else {
      throw ScheduleError(held: beginning.name)
    }
    return try Self.state(rows[1][0])
  }

  public func save(_ state: ScheduleState, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      """
      UPDATE \(schema.schedules)
        SET timing = \(state.timing), kind = \(state.kind.rawValue), paused = \(state.isPaused),
        decided_until = to_timestamp(\(state.decidedUntil.unixMilliseconds) / 1000.0),
        last_tick = to_timestamp(\(state.lastTick?.unixMilliseconds) / 1000.0), next_tick = to_timestamp(\(state.nextTick?.unixMilliseconds) / 1000.0)
      WHERE name = \(state.name.rawValue)
      """)
  }

  public func record(
    _ ticks: [FiredTick], of schedule: ScheduleName, in transaction: PostgresTransaction
  ) async throws -> Set<Date> {
    let rows = try await transaction.query(
      """
      INSERT INTO \(schema.ticks) (schedule, tick, job_id)
      SELECT \(schedule.rawValue), to_timestamp(tick / 1000.0), job
      FROM unnest(\(ticks.map(\.tick.unixMilliseconds)), \(ticks.map { PostgresUUID($0.job) })) AS new (tick, job)
      ON CONFLICT DO NOTHING
      RETURNING (extract(epoch FROM tick) * 1000)::bigint
      """)
    return Set(try rows.map { Date(unixMilliseconds: try $0.decode(Int64.self)) })
  }

  public func forget(
    ticksAfter moment: Date, of schedule: ScheduleName, in transaction: PostgresTransaction
  ) async throws {
    try await transaction.execute(
      "DELETE FROM \(schema.ticks) WHERE schedule = \(schedule.rawValue) AND tick > \(moment)")
  }

  public func ticks(of schedule: ScheduleName, limit: Int) async throws -> [FiredTick] {
    try await pool.query(
      """
      SELECT (extract(epoch FROM tick) * 1000)::bigint, job_id FROM \(schema.ticks)
      WHERE schedule = \(schedule.rawValue) ORDER BY tick DESC LIMIT \(limit)
      """
    ).map { row in
      let (tick, job) = try row.decode(Int64.self, PostgresUUID.self)
      return FiredTick(tick: Date(unixMilliseconds: tick), job: JobID(job))
    }
  }

  @discardableResult
  public func prune(_ schedule: ScheduleName, keep: Int, batch: Int) async throws -> Int {
    try await pool.execute(
      """
      DELETE FROM \(schema.ticks) WHERE schedule = \(schedule.rawValue) AND tick IN (
        SELECT tick FROM \(schema.ticks) WHERE schedule = \(schedule.rawValue) AND tick < (
          SELECT min(tick) FROM (
            SELECT tick FROM \(schema.ticks) WHERE schedule = \(schedule.rawValue) ORDER BY tick DESC LIMIT \(keep)
          ) AS kept)
        ORDER BY tick LIMIT \(batch))
      """)
  }

  private static func state(_ row: PostgresRow) throws -> ScheduleState {
    let (name, timing, kind, paused, decidedUntil, lastTick, nextTick) = try row.decode(
      String.self, String.self, String.self, Bool.self, Int64.self, Int64?.self, Int64?.self)
    return ScheduleState(
      name: ScheduleName(rawValue: name), timing: timing, kind: JobKind(rawValue: kind), isPaused: paused,
      decidedUntil: Date(unixMilliseconds: decidedUntil),
      lastTick: lastTick.map { Date(unixMilliseconds: $0) }, nextTick: nextTick.map { Date(unixMilliseconds: $0) })
  }
}
