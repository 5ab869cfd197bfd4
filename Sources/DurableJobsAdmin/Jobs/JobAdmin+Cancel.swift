import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

extension JobAdmin {
  /// Ends a pending job, without its effects: one that waits at once; of one that runs, the worker is told, and what
  /// its transaction wrote is undone.
  ///
  /// - Parameter patience: how long to wait for a worker.
  /// - Returns: the job as it is then: cancelled, or done where it was faster.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not pending; `.failed` if its worker has not
  ///   ended it within `patience`, and then it may still do so.
  public func cancel(_ text: String, by actor: Operator, patience: Duration = .seconds(10)) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    guard job.state.isPending else { throw OperationError(.conflict, "job \(id) is \(job.state.rawValue) already") }
    let queue = QueueName(rawValue: job.queue)
    var (left, isNoted) = (patience, false)
    while true {
      if try await end(id, queue, isNoted ? nil : actor) {
        try await forget(id, queue, isTold: isNoted)
        break
      }
      isNoted = true
      let now = try await summary(id)
      if now?.state.isPending != true {
        // It may have ended while the order was written.
        try await database.forgetOrder(toEnd: id)
        guard let now else { throw OperationError(.conflict, "job \(id) is done: it was faster") }
        return now
      }
      guard left > .zero else {
        throw OperationError(
          .failed, "job \(id) runs, and its worker has not ended it in \(patience); it has been told to")
      }
      let nap = min(left, .milliseconds(100))
      try await clock.sleep(for: nap)
      left -= nap
    }
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Ends a job unless an open transaction holds it; then whoever runs it is told.
  ///
  /// - Parameter actor: who asks, to be noted; nil if that is noted already.
  /// - Returns: whether it has ended.
  private func end(_ id: JobID, _ queue: QueueName, _ actor: Operator?) async throws -> Bool {
    try await database.pool.transaction { transaction in
      let isEnded = try await !client.ledger.cancelUnheld([id], queue: queue, in: transaction).isEmpty
      if let actor { try await ActionLog(database).record("jobs.cancel", id.description, by: actor, in: transaction) }
      if !isEnded { try await database.schema.tellToEndPending([id], in: queue, in: transaction) }
      return isEnded
    }
  }

  /// Lets the broker forget a job that has ended. Where a worker has it, the worker is told: its transaction finds
  /// nothing to end whatever it does, and told, it does not go on in vain.
  ///
  /// - Parameter isTold: whether it was told already, and has let go.
  private func forget(_ id: JobID, _ queue: QueueName, isTold: Bool) async throws {
    if try await client.broker.remove([id], from: queue).isEmpty, !isTold,
      try await client.broker.missing([id], in: queue).isEmpty
    {
      try await database.pool.transaction { try await client.ledger.tellToEnd([id], queue: queue, in: $0) }
    } else {
      try await database.forgetOrder(toEnd: id)
    }
  }
}
