import Logging

/// Asks for jobs.
///
/// `enqueue` is for durable jobs, which exist from the commit of the transaction that asked for them; `push` is for
/// jobs that need no record and live and die with the broker.
public struct JobClient<B: Broker, L: Ledger>: Sendable {
  /// Where jobs are pushed.
  public let broker: B
  /// Where durable jobs are pending.
  public let ledger: L
  private let pusher: JobPusher<B>?
  let enqueuing: Enqueuing
  private let logger: Logger

  /// - Parameters:
  ///   - pusher: pushes durable jobs, so that callers do not wait for the broker; its `run()` must be running.
  ///     nil has each caller wait for its push, for as long as the broker's own limits allow.
  ///   - middleware: around each enqueue and push, the outermost first.
  ///   - clock: delays are counted by it.
  public init(
    broker: B, ledger: L, pusher: JobPusher<B>? = nil, middleware: [any JobMiddleware] = [],
    clock: any WallClock = .system, logger: Logger
  ) {
    enqueuing = Enqueuing(middleware: MiddlewareChain(middleware), clock: clock)
    self.broker = broker
    self.ledger = ledger
    self.pusher = pusher
    self.logger = logger
  }

  /// Changes the app's rows and asks for jobs in one transaction, then pushes the jobs in one go.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: @Sendable (JobTransaction<L>) async throws -> Result
  ) async throws -> Result {
    let outbox = Outbox()
    let result = try await ledger.withTransaction { [ledger, enqueuing] sql in
      _ = outbox.take()  // a transaction that the ledger runs again starts with nothing asked for
      return try await body(JobTransaction(sql: sql, ledger: ledger, outbox: outbox, enqueuing: enqueuing))
    }
    await pushPending(outbox.take())
    return result
  }

  /// The same for what gives nothing back, a single call whose result nobody wants among it.
  public func transaction(_ body: @Sendable (JobTransaction<L>) async throws -> Void) async throws {
    _ = try await transaction { transaction -> Bool in
      try await body(transaction)
      return true
    }
  }

  /// Owes a job, in a transaction of its own.
  ///
  /// - Returns: its id, or nil if its unique key is pending already.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID? {
    try await transaction { try await $0.enqueue(job, options: options) }
  }

  /// Owes many jobs: one statement, one pipelined push.
  @discardableResult
  public func enqueue<J: Job>(_ jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    try await transaction { try await $0.enqueue(jobs, options: options) }
  }

  /// Hands a job to the broker alone: fast, and gone if the broker is. Its payload has at most
  /// `PayloadLimit.unrecorded` bytes.
  @discardableResult
  public func push<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID {
    let record = try JobRecord(job, options: options, isDurable: false, clock: enqueuing.clock)
    try record.check()
    try await hand([record])
    return record.id
  }

  /// Hands many jobs to the broker alone, in one pipeline.
  @discardableResult
  public func push<J: Job>(_ jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    // While one chunk is on its way the next is encoded; they leave in order.
    var ids: [JobID] = []
    ids.reserveCapacity(jobs.count)
    var rest = jobs[...]
    var records = try JobRecord.unrecordedBatch(rest, options: options, clock: enqueuing.clock)
    while !records.isEmpty {
      rest = rest.dropFirst(records.count)
      let left = rest
      async let next = JobRecord.unrecordedBatch(left, options: options, clock: enqueuing.clock)
      ids += try await hand(records)
      records = try await next
    }
    return ids
  }

  /// - Returns: the ids of the jobs that middleware did not leave out.
  @discardableResult
  private func hand(_ records: [JobRecord]) async throws -> [JobID] {
    try await enqueuing.middleware.enqueue(records, checking: { try $0.check() }) { records in
      try await broker.push(records)
      return records.map(\.id)
    }
  }

  /// Pushes what the ledger already owes. A failure costs time, not jobs: the relay pushes again.
  public func pushPending(_ records: [JobRecord]) async {
    if records.isEmpty { return }
    if let pusher { return pusher.offer(records) }
    do {
      try await broker.push(records)
    } catch {
      logger.warning(
        "jobs are pending but not pushed; the relay will push them",
        metadata: [LogKeys.count: "\(records.count)", LogKeys.error: "\(error)"])
    }
  }
}
