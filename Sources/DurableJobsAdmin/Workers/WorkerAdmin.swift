import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Operations on workers: view, quiet, stop.
public struct WorkerAdmin: Sendable {
  private let database: JobsDatabase

  public init(_ database: JobsDatabase) {
    self.database = database
  }

  /// All live workers, and those that vanished less than an hour ago, by name.
  public func list() async throws -> [WorkerSummary] {
    let (workers, paused) = try await database.workers()
    return workers.map { worker in
      let isQuiet = worker.state == .quiet || worker.state == .stopping
      return WorkerSummary(
        name: worker.name, host: worker.host, pid: worker.pid, version: worker.version, startedAt: worker.startedAt,
        seenAt: worker.seenAt, state: WorkerSummary.State(worker.state),
        orders: worker.state == nil ? nil : worker.command,
        queues: worker.queues.map { served in
          WorkerSummary.Queue(
            queue: served.queue.rawValue, concurrency: served.concurrency,
            isPaused: isQuiet || paused.contains(served.queue))
        }.sorted { $0.queue < $1.queue },
        running: worker.running.map { run in
          WorkerSummary.Running(
            id: run.id.description, kind: run.kind.rawValue, queue: run.queue.rawValue, attempt: run.attempt,
            since: run.since)
        })
    }
  }

  /// Stops a worker from claiming; its running jobs continue, and so does the worker.
  ///
  /// - Parameter name: nil for all.
  /// - Returns: the names of the notified workers; the order reaches them within a second.
  /// - Throws: `.notFound`, `.forbidden`.
  public func quiet(_ name: String?, by actor: Operator) async throws -> [String] {
    try await order("quiet", name, by: actor)
  }

  /// Ends a worker as SIGTERM does: it claims no more, finishes what runs, hands back the rest.
  ///
  /// - Parameter name: nil for all.
  /// - Returns: the names of the notified workers; the order reaches them within a second.
  /// - Throws: `.notFound`, `.forbidden`.
  public func stop(_ name: String?, by actor: Operator) async throws -> [String] {
    try await order("stop", name, by: actor)
  }

  private func order(_ order: String, _ name: String?, by actor: Operator) async throws -> [String] {
    try actor.mustBeAbleToAct()
    return try await database.pool.transaction { transaction in
      let notified = try await database.schema.leave(order, forWorker: name, in: transaction)
      if notified.isEmpty, let name {
        let names = try await database.schema.workerNames(in: transaction)
        if names.contains(name) {
          throw OperationError(.notFound, "the worker \(name) is lost: it has not reported for ten seconds")
        }
        throw OperationError(.notFound, EditDistance.unknown("worker", name, of: names).message)
      }
      for worker in notified {
        try await ActionLog(database).record("workers.\(order)", worker, by: actor, in: transaction)
      }
      return notified
    }
  }
}

extension WorkerSummary.State {
  /// - Parameter state: nil for a worker that no longer reports.
  fileprivate init(_ state: WorkerReport.State?) {
    self =
      switch state {
      case .running: .running
      case .quiet: .quiet
      case .stopping: .stopping
      case nil: .lost
      }
  }
}
