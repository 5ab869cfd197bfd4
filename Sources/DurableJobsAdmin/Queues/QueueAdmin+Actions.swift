import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

extension QueueAdmin {
  /// Lets workers claim nothing more from a queue; what runs goes on. Nothing changes where it is paused already.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func pause(_ name: String, by actor: Operator) async throws {
    let queue = try await queue(name)
    try await database.pool.transaction { transaction in
      let isNew = try await database.schema.pause(queue, by: actor.name, in: transaction)
      try await ActionLog(database).record(
        "queues.pause", name, detail: isNew ? [:] : ["was": "paused"], by: actor, in: transaction)
    }
  }

  /// Lets workers claim from a queue again. Nothing changes where it is not paused.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func resume(_ name: String, by actor: Operator) async throws {
    let queue = try await queue(name)
    try await database.pool.transaction { transaction in
      let wasPaused = try await database.schema.resume(queue, in: transaction)
      try await ActionLog(database).record(
        "queues.resume", name, detail: wasPaused ? [:] : ["was": "running"], by: actor, in: transaction)
    }
  }

  /// Waits until nothing is pending in a queue and the broker has nothing of it.
  ///
  /// - Parameters:
  ///   - limit: how long.
  ///   - progress: is called now and then with how many jobs the broker still has.
  /// - Throws: `.notFound`; `.conflict` if the queue is paused; `.failed` if something is left after `limit`.
  public func drain(
    _ name: String, limit: Duration, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws {
    let queue = try await queue(name)
    var (left, pause) = (limit, Duration.milliseconds(50))
    while true {
      let (isPending, isPaused) = try await database.standing(of: queue)
      let depth = try await broker.depth(of: queue)
      let waiting = depth.ready + depth.claimed + depth.delayed
      progress(waiting)
      if !isPending, waiting == 0 { return }
      if isPaused {
        throw OperationError(.conflict, "the queue \(name) is paused, so nothing of it is done: resume it first")
      }
      guard left > .zero else {
        throw OperationError(
          .failed,
          """
          the queue \(name) is not empty after \(limit): \(depth.ready) ready, \(depth.claimed) claimed, \
          \(depth.delayed) delayed
          """)
      }
      let nap = min(left, pause)
      try await clock.sleep(for: nap)
      left -= nap
      pause = min(pause * 2, .milliseconds(500))
    }
  }
}
