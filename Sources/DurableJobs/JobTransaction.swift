import Locking

/// A transaction that changes the app's rows and enqueues jobs: both happen or neither does.
///
/// The jobs reach the broker after the commit. If that push fails, they are still in the ledger, and the relay pushes
/// them again.
public struct JobTransaction<L: Ledger>: Sendable {
  /// The ledger's transaction, shared with the app: run the app's own statements here.
  public let sql: L.Transaction
  let ledger: L
  let outbox: Outbox
  private let enqueuing: Enqueuing

  init(sql: L.Transaction, ledger: L, outbox: Outbox, enqueuing: Enqueuing = .plain) {
    self.enqueuing = enqueuing
    self.sql = sql
    self.ledger = ledger
    self.outbox = outbox
  }

  /// Enqueues a job, as of this transaction's commit.
  ///
  /// - Returns: its id, or nil if a job with its unique key is pending, or middleware dropped it.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID? {
    try await add([JobRecord(job, options: options, isDurable: true, clock: enqueuing.clock)]).first
  }

  /// Enqueues many jobs with one statement.
  @discardableResult
  public func enqueue<J: Job>(_ jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    try await store(JobRecord.records(jobs, options: options, isDurable: true, clock: enqueuing.clock))
  }

  /// Enqueues jobs that are already records, such as an operator's.
  @discardableResult
  public func add(_ records: [JobRecord]) async throws -> [JobID] {
    for record in records { try record.check() }
    return try await store(records)
  }

  /// Enqueues again jobs that were accepted before, such as dead letters: a payload limit lowered since then does not
  /// reject them.
  @discardableResult
  public func readd(_ records: [JobRecord]) async throws -> [JobID] {
    for record in records { try record.checkForm() }
    return try await store(records) { try $0.checkForm() }
  }

  private func store(
    _ records: [JobRecord], checking check: (JobRecord) throws -> Void = { try $0.check() }
  ) async throws -> [JobID] {
    if records.isEmpty { return [] }
    if let empty = records.first(where: { $0.payloadInLedger != nil }) {
      throw InvalidJob(description: "the record of a job of kind \(empty.kind) has no payload: it is in the ledger")
    }
    return try await enqueuing.middleware.enqueue(records, checking: check) { try await add(toLedger: $0) }
  }

  private func add(toLedger records: [JobRecord]) async throws -> [JobID] {
    let added = try await ledger.add(records, in: sql)
    // Without the payloads that stay in the ledger.
    if added.count == records.count {
      outbox.add(records.carried)
    } else {
      let ids = Set(added)
      outbox.add(records.lazy.filter { ids.contains($0.id) }.carried)
    }
    return added
  }
}

/// The jobs of one transaction, to push after its commit.
final class Outbox: Sendable {
  private let records = Locked<[JobRecord]>([])

  func add(_ added: [JobRecord]) { records.withLock { $0 += added } }

  func take() -> [JobRecord] {
    records.withLock { records in
      let taken = records
      records = []
      return taken
    }
  }
}
