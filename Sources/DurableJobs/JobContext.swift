#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Locking
import Logging

/// What a handler knows of the job it runs, and its way to finish it together with what it writes.
public struct JobContext<L: Ledger>: Sendable {
  /// The idempotency key for whatever the handler calls outside.
  public let id: JobID
  public let kind: JobKind
  /// The one that it was claimed from, which may be another than its kind's own.
  public let queue: QueueName
  /// 1 for the first attempt.
  public let attempt: Int
  /// When the job was enqueued.
  public let createdAt: Date
  /// What the job follows from. What its handler asks for inherits it.
  public let trace: TraceID?
  let base: Logger
  let isDurable: Bool
  /// The ledger that the job is in.
  public let ledger: L
  let outbox: Outbox
  let enqueuing: Enqueuing
  let isCompleted = Locked(false)

  /// Carries the job's id, kind, attempt and trace. Made when it is asked for: most jobs log nothing.
  public var logger: Logger {
    var logger = base
    logger[metadataKey: LogKeys.job] = "\(id)"
    logger[metadataKey: LogKeys.kind] = "\(kind)"
    logger[metadataKey: LogKeys.attempt] = "\(attempt)"
    if let trace { logger[metadataKey: LogKeys.trace] = "\(trace)" }
    return logger
  }

  /// Runs `body` in the transaction that ends the job: what it writes takes effect exactly once, because the job's row
  /// in the ledger is deleted first, in the same transaction, and only one delivery can delete it.
  ///
  /// A handler calls it once, as its last step. One that never calls it has its row deleted after it returns.
  ///
  /// - Throws: what `body` throws; `JobAlreadyDone` where another delivery was first, which the worker takes as done;
  ///   `JobHeld` where another delivery's transaction is open, and the worker hands the job back.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: @Sendable (JobTransaction<L>) async throws -> Result
  ) async throws -> Result {
    // One of its own, so that what an earlier transaction asked for is not forgotten.
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

  /// The same for what gives nothing back, a single call whose result nobody wants among it.
  public func transaction(_ body: @Sendable (JobTransaction<L>) async throws -> Void) async throws {
    _ = try await transaction { transaction -> Bool in
      try await body(transaction)
      return true
    }
  }
}

/// Another delivery of the job has committed. The transaction that meets this changes nothing.
public struct JobAlreadyDone: Error, CustomStringConvertible {
  public init() {}
  public var description: String { "another delivery of this job finished first" }
}

/// One job of a batch.
public struct BatchedJob<J: Job>: Sendable {
  /// The idempotency key for whatever the handler calls outside.
  public let id: JobID
  /// The payload.
  public let job: J
  /// 1 for the first attempt.
  public let attempt: Int
  /// What it follows from.
  public let trace: TraceID?
}
