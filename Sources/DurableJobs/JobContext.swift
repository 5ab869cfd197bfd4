#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Locking
import Logging

/// A handler's view of the job it runs, and its means to end the job together with its own writes.
public struct JobContext<L: Ledger>: Sendable {
  /// The idempotency key for external calls of the handler.
  public let id: JobID
  public let kind: JobKind
  /// The queue that the job was claimed from, possibly not its kind's own.
  public let queue: QueueName
  /// 1 for the first attempt.
  public let attempt: Int
  /// When the job was enqueued.
  public let createdAt: Date
  /// The trace that the job follows. Jobs enqueued by its handler inherit it.
  public let trace: TraceID?
  let base: Logger
  let isDurable: Bool
  /// The ledger that the job is in.
  public let ledger: L
  let outbox: Outbox
  let enqueuing: Enqueuing
  let isCompleted = Locked(false)

  /// Carries the job's id, kind, attempt and trace. Computed on demand, since most jobs log nothing.
  public var logger: Logger {
    var logger = base
    logger[metadataKey: LogKeys.job] = "\(id)"
    logger[metadataKey: LogKeys.kind] = "\(kind)"
    logger[metadataKey: LogKeys.attempt] = "\(attempt)"
    if let trace { logger[metadataKey: LogKeys.trace] = "\(trace)" }
    return logger
  }

  /// Runs `body` in the transaction that ends the job. The transaction deletes the job's row in the ledger first, and
  /// only one delivery can delete it, so the writes in `body` take effect exactly once.
  ///
  /// A handler calls it once, as its last step. If it never does, the row is deleted after the handler returns.
  ///
  /// - Throws: any error of `body`; `JobAlreadyDone` if another delivery was first, which the worker treats as done;
  ///   `JobHeld` if another delivery's transaction is open, which makes the worker hand the job back.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: @Sendable (JobTransaction<L>) async throws -> Result
  ) async throws -> Result {
    // A separate outbox, so that a rerun does not drop the jobs of an earlier transaction.
    let asked = Outbox()
    let result = try await ledger.withTransaction { [self] sql in
      _ = asked.take()
      if isDurable {
        let completion = try await ledger.complete([id], queue: queue, in: sql)
        if !completion.held.isEmpty { throw JobHeld() }
        if completion.ended.isEmpty { throw JobAlreadyDone() }
      }
      return try await body(JobTransaction(sql: sql, ledger: ledger, outbox: asked, enqueuing: enqueuing))
    }
    outbox.add(asked.take())
    isCompleted.withLock { $0 = true }
    return result
  }

  /// Overload for closures that return `Void`, including a single call with an unused result.
  public func transaction(_ body: @Sendable (JobTransaction<L>) async throws -> Void) async throws {
    _ = try await transaction { transaction -> Bool in
      try await body(transaction)
      return true
    }
  }
}

/// Another delivery of the job has committed. The transaction that throws this changes nothing.
public struct JobAlreadyDone: Error, CustomStringConvertible {
  public init() {}
  public var description: String { "another delivery of this job finished first" }
}

/// One job of a batch.
public struct BatchedJob<J: Job>: Sendable {
  /// The idempotency key for external calls of the handler.
  public let id: JobID
  /// The payload.
  public let job: J
  /// 1 for the first attempt.
  public let attempt: Int
  /// The trace that the job follows.
  public let trace: TraceID?
}
