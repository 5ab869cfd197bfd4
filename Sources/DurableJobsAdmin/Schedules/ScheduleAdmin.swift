import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Operations on schedules: view, pause, resume. None of them needs a running worker.
public struct ScheduleAdmin: Sendable {
  let schedules: [Schedule]
  let database: JobsDatabase
  let store: PostgresScheduleStore
  let now: @Sendable () -> Date

  /// - Parameter schedules: the app's schedules.
  public init(_ schedules: [Schedule], database: JobsDatabase, now: @escaping @Sendable () -> Date = { JobClock.now }) {
    self.schedules = schedules
    self.database = database
    self.now = now
    store = PostgresScheduleStore(database)
  }

  /// All schedules, by name: the app's, and those of other versions of it.
  public func list() async throws -> [ScheduleSummary] {
    let kept = try await store.states()
    let new = schedules.filter { schedule in !kept.contains { $0.name == schedule.name } }
    return (kept.map(summary) + new.map(ScheduleSummary.init(new:))).sorted { $0.name < $1.name }
  }

  /// Stops a schedule from firing until it is resumed. Pausing a paused schedule changes nothing.
  ///
  /// - Throws: `.usage` for an unknown name, `.forbidden`.
  public func pause(_ name: String, by actor: Operator) async throws -> ScheduleSummary {
    try await change(name, "schedules.pause", by: actor) { state, _ in
      if !state.isPaused { state.pause() }
    }
  }

  /// Lets a schedule fire again, from its next tick on: ticks missed during the pause are skipped. Resuming a schedule
  /// that is not paused changes nothing.
  ///
  /// - Throws: `.usage` for an unknown name, `.forbidden`.
  public func resume(_ name: String, by actor: Operator) async throws -> ScheduleSummary {
    try await change(name, "schedules.resume", by: actor) { [moment] state, schedule in
      if state.isPaused { state.resume(schedule, at: moment) }
    }
  }

  private func change(
    _ name: String, _ action: String, by actor: Operator,
    _ body: @escaping @Sendable (inout ScheduleState, Schedule?) -> Void
  ) async throws -> ScheduleSummary {
    let schedule = schedules.first { $0.name.rawValue == name }
    let kept = try await store.states()
    guard
      let beginning = schedule.map({ ScheduleState(beginning: $0, at: moment) })
        ?? kept.first(where: { $0.name.rawValue == name })
    else { throw Self.unknown(name, of: schedules.map(\.name) + kept.map(\.name)) }
    let state = try await database.pool.transaction { [store, database] transaction in
      var state = try await Self.lock(beginning, store, in: transaction)
      body(&state, schedule)
      try await store.save(state, in: transaction)
      try await ActionLog(database).record(action, name, by: actor, in: transaction)
      return state
    }
    return summary(state)
  }

  /// - Throws: `.conflict` if another transaction keeps the state locked.
  static func lock(
    _ beginning: ScheduleState, _ store: PostgresScheduleStore, in transaction: PostgresTransaction
  ) async throws -> ScheduleState {
    do {
      return try await store.lock(beginning, in: transaction)
    } catch let error as ScheduleError where error.code == .held {
      throw OperationError(.conflict, error.message)
    }
  }

  private func summary(_ kept: ScheduleState) -> ScheduleSummary {
    ScheduleSummary(kept, isKnown: schedules.contains { $0.name == kept.name }, now: now())
  }

  static func unknown(_ name: String, of names: [ScheduleName]) -> OperationError {
    EditDistance.unknown("schedule", name, of: Set(names.map(\.rawValue)))
  }

  /// Now, in whole milliseconds.
  var moment: Date { Date(unixMilliseconds: now().unixMilliseconds) }
}
