import Locking
import Logging

/// Jobs of one kind that run together, and their handler's way to end them.
///
/// ```swift
/// registry.registerBatch(AskOutside.self, upTo: 50) { batch in
///   let answers = await ask(batch.jobs)
///   try await batch.transaction(ending: batch.jobs) { live, transaction in … }
/// }
/// ```
/// A job that is neither ended nor failed when the handler returns has its row deleted, as one that ran by itself has.
public struct JobBatch<J: Job, L: Ledger>: Sendable {
  /// One at least. Some of them may be done meanwhile by another delivery: `transaction` tells.
  public let jobs: [BatchedJob<J>]
  let progress: BatchProgress<L>

  /// Without a job's id: a line of a batch concerns all of its jobs. Name the one that it is about.
  public var logger: Logger { progress.logger }

  /// Runs `body` in a transaction that ends `ending`: what it writes for them takes effect exactly once, because their
  /// rows in the ledger are deleted first, in the same transaction.
  ///
  /// A handler may call it again and again, with other jobs each time, also from several tasks.
  ///
  /// - Parameter body: gets those of `ending` that are still pending, which may be none: what is to be written for the
  ///   others another delivery has written, or is writing in a transaction that is still open. The latter are tried
  ///   again.
  public func transaction(
    ending: [BatchedJob<J>], _ body: @Sendable ([BatchedJob<J>], JobTransaction<L>) async throws -> Void
  ) async throws {
    try await progress.end(ending.map(\.id)) { live, transaction in
      try await body(ending.filter { live.contains($0.id) }, transaction)
    }
  }

  /// Notes that one job failed: it is tried again by its kind's policy, whatever becomes of the others.
  public func fail(_ job: BatchedJob<J>, _ error: any Error) { progress.fail(job.id, error) }
}

/// What has become of a batch's jobs so far.
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

  /// - Parameter push: hands the jobs that a transaction asked for to the broker.
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

  /// What has ended stays so.
  func fail(_ id: JobID, _ error: any Error) {
    outcomes.withLock { outcomes in
      if case .ended = outcomes[id] { return }
      outcomes[id] = .failed(error)
    }
  }

  func outcome(of id: JobID) -> Outcome? { outcomes.withLock { $0[id] } }
}
