import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation

/// A schedule fired by hand.
public struct ScheduleRun: Codable, Sendable, Hashable {
  public let schedule: String
  /// The time passed to the job as its tick.
  public let tick: Date
  /// The job's id.
  public let id: String
  public let kind: String
  public let queue: String
}

extension ScheduleAdmin {
  /// The app's schedule of this name.
  ///
  /// - Throws: `.usage`, naming the nearest schedule and all schedules.
  public static func schedule(_ name: String, of schedules: [Schedule]) throws(OperationError) -> Schedule {
    guard let schedule = schedules.first(where: { $0.name.rawValue == name }) else {
      throw unknown(name, of: schedules.map(\.name))
    }
    return schedule
  }

  /// Enqueues a schedule's job now, besides its ticks, even while it is paused.
  ///
  /// - Throws: `.usage` for a name that the app does not define, `.forbidden`; `.conflict` if the job's unique key is
  ///   pending, usually from an earlier tick.
  public func run(_ name: String, on jobs: JobAdmin, by actor: Operator) async throws -> ScheduleRun {
    let schedule = try Self.schedule(name, of: schedules)
    let tick = Tick(schedule: schedule.name, time: moment)
    let record = try schedule.job(at: tick)
    try await jobs.client.transaction { [store, database] transaction in
      let beginning = ScheduleState(beginning: schedule, at: tick.time)
      var state = try await Self.lock(beginning, store, in: transaction.sql)
      let fired = FiredTick(tick: tick.time, job: record.id)
      guard try await !store.record([fired], of: schedule.name, in: transaction.sql).isEmpty else {
        throw OperationError(.conflict, "not run: the schedule \(name) has just fired")
      }
      guard try await Self.add(record, in: transaction) else {
        throw OperationError(
          .conflict,
          "not run: a job of \(name) is already pending, with the unique key '\(record.uniqueKey ?? "")' in "
            + "\(record.queue)"
        )
      }
      state.lastTick = max(state.lastTick ?? .distantPast, tick.time)
      try await store.save(state, in: transaction.sql)
      try await ActionLog(database).record(
        "schedules.run", name, detail: ["job": record.id.description], by: actor, in: transaction.sql)
    }
    return ScheduleRun(
      schedule: name, tick: tick.time, id: record.id.description, kind: record.kind.rawValue,
      queue: record.queue.rawValue)
  }

  /// - Returns: false if its unique key is pending.
  private static func add(_ record: JobRecord, in transaction: JobTransaction<PostgresLedger>) async throws -> Bool {
    do {
      return try await transaction.add([record]) == [record.id]
    } catch let error as UniqueKeyHeld {
      throw OperationError(.conflict, "not run: \(error)")
    }
  }
}
