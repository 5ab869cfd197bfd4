import Locking
import Logging

/// Jobs of one kind that run together, and the handler's means to end them.
///
/// ```swift
/// registry.registerBatch(AskOutside.self, upTo: 50) { batch in
///   let answers = await ask(batch.jobs)
///   try await batch.transaction(ending: batch.jobs) { live, transaction in … }
/// }
/// ```
/// The row of a job that is neither ended nor failed is deleted when the handler returns, as for a job run by itself.
public struct JobBatch<J: Job, L: Ledger>: Sendable {
  /// At least one. Another delivery may have ended some of them meanwhile; `transaction` passes on only the rest.
  public let jobs: [BatchedJob<J>]
  let progress: BatchProgress<L>

  /// Without a job id, since a batch's log line concerns all of its jobs. Add the id of a job that a line is about.
  public var logger: Logger { progress.logger }

  /// Runs `body` in a transaction that ends `ending`. The transaction deletes their rows in the ledger first, so the
  /// writes in `body` take effect exactly once.
  ///
  /// A handler may call it repeatedly with other jobs, also from several tasks.
  ///
  /// - Parameter body: gets those of `ending` that are still pending, possibly none. Another delivery has ended the
  ///   others, or is ending them in an open transaction; the latter are retried.
  public func transaction(
    ending: [BatchedJob<J>], _ body: @Sendable ([BatchedJob<J>], JobTransaction<L>) async throws -> Void
  ) async throws {
    try await progress.end(ending.map(\.id)) { live, transaction in
      try await body(ending.filter { live.contains($0.id) }, transaction)
    }
  }

  /// Marks one job as failed: it is retried by its kind's policy, independently of the others.
  public func fail(_ job: BatchedJob<J>, _ error: any Error) { progress.fail(job.id, error) }
}

/// The outcomes of a batch's jobs so far.
final class BatchProgress<L: Ledger>: Sendable {
  enum Outcome {
    case ended
    case failed(any Error)
  }

  let logger: Logger
  private let queue: QueueName
  private let durable: Set<JobID>
  private let ledger: L
  private let enqueuing: Enqueuing
  private let push: @Sendable ([JobRecord]) async -> Void
  private let outcomes = Locked<[JobID: Outcome]>([:])

  /// - Parameter push: pushes the jobs enqueued in a transaction to the broker.
  init(
    queue: QueueName, durable: Set<JobID>, ledger: L, enqueuing: Enqueuing, logger: Logger,
    push: @escaping @Sendable ([JobRecord]) async -> Void
  ) {
    self.queue = queue
    self.durable = durable
    self.ledger = ledger
    self.enqueuing = enqueuing
    self.logger = logger
    self.push = push
  }

  func end(_ ids: [JobID], _ body: @Sendable (Set<JobID>, JobTransaction<L>) async throws -> Void) async throws {
    let asked = Outbox()
    let held = try await ledger.withTransaction { [self] sql in
      _ = asked.take()
      let completion = try await ledger.complete(ids.filter(durable.contains), queue: queue, in: sql)
      let live = Set(completion.ended).union(ids.filter { !durable.contains($0) })
      try await body(live, JobTransaction(sql: sql, ledger: ledger, outbox: asked, enqueuing: enqueuing))
      return Set(completion.held)
    }
    outcomes.withLock { outcomes in
      for id in ids { outcomes[id] = held.contains(id) ? .failed(JobHeld()) : .ended }
    }
    await push(asked.take())
  }

  /// Ignored for jobs that have ended.
  func fail(_ id: JobID, _ error: any Error) {
    outcomes.withLock { outcomes in
      if case .ended = outcomes[id] { return }
      outcomes[id] = .failed(error)
    }
  }

  func outcome(of id: JobID) -> Outcome? { outcomes.withLock { $0[id] } }
}
