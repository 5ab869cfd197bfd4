import DurableJobs
import DurableJobsRedis
import Foundation
import LibPQClient

extension QueueAdmin {
  /// Lets workers claim nothing more from a queue; what runs goes on. Nothing changes where it is paused already.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func pause(_ name: String, by actor: Operator) async throws {
    let queue = try await queue(name)
    try await pool.transaction { transaction in
      let paused = try await transaction.execute(
        """
        INSERT INTO queue_pauses (queue, paused_by) VALUES (\(queue.rawValue), \(actor.name)) ON CONFLICT DO NOTHING
        """)
      try await ActionLog.record(
        "queues.pause", name, detail: paused == 0 ? ["was": "paused"] : [:], by: actor, in: transaction)
    }
  }

  /// Lets workers claim from a queue again. Nothing changes where it is not paused.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func resume(_ name: String, by actor: Operator) async throws {
    let queue = try await queue(name)
    try await pool.transaction { transaction in
      let resumed = try await transaction.execute("DELETE FROM queue_pauses WHERE queue = \(queue.rawValue)")
      try await ActionLog.record(
        "queues.resume", name, detail: resumed == 0 ? ["was": "running"] : [:], by: actor, in: transaction)
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
      let row = try await pool.query(
        """
        SELECT EXISTS(SELECT FROM jobs WHERE queue = \(name)), EXISTS(SELECT FROM queue_pauses WHERE queue = \(name))
        """)[0]
      let (isPending, isPaused) = try row.decode(Bool.self, Bool.self)
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
          "the queue \(name) is not empty after \(limit): \(depth.ready) ready, \(depth.claimed) claimed, \(depth.delayed) delayed"
        )
      }
      let nap = min(left, pause)
      try await clock.sleep(for: nap)
      left -= nap
      pause = min(pause * 2, .milliseconds(500))
    }
  }
}
