import Locking

/// One transaction in which the app's rows change and jobs are asked for: both happen or neither does.
///
/// The jobs reach the broker after the commit. Where that push fails, the ledger still owes them and the relay pushes
/// again.
public struct JobTransaction<L: Ledger>: Sendable {
  /// What the ledger and the app share: statements of the app's own go here.
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

  /// Owes a job from this transaction's commit on.
  ///
  /// - Returns: its id, or nil if its unique key is pending already.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID? {
    try await add([JobRecord(job, options: options, isDurable: true, clock: enqueuing.clock)]).first
  }

  /// Owes many jobs with one statement.
  @discardableResult
  public func enqueue<J: Job>(_ jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    try await owe(JobRecord.records(jobs, options: options, isDurable: true, clock: enqueuing.clock))
  }

  /// Owes jobs that are records already, such as those that an operator asks for.
  @discardableResult
  public func add(_ records: [JobRecord]) async throws -> [JobID] {
    for record in records { try record.check() }
    return try await owe(records)
  }

  /// Owes again jobs that were let in before, such as dead letters: a limit on payloads that came later does not keep
  /// them out.
  @discardableResult
  public func readd(_ records: [JobRecord]) async throws -> [JobID] {
    for record in records { try record.checkForm() }
    return try await owe(records) { try $0.checkForm() }
  }

  private func owe(
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

/// The jobs of one transaction, to be pushed once it has committed.
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
