import Locking
import Logging

/// Enqueues and pushes jobs.
///
/// `enqueue` is for durable jobs, which exist once the transaction that enqueued them has committed; `push` is for jobs
/// that need no record and are lost with the broker.
public struct JobClient<B: Broker, L: Ledger>: Sendable {
  /// Where jobs are pushed.
  public let broker: B
  /// Where durable jobs are recorded.
  public let ledger: L
  private let pusher: JobPusher<B>?
  let enqueuing: Enqueuing
  private let logger: Logger
  /// Whether the last push of durable jobs failed.
  private let isAway = Locked(false)

  /// - Parameters:
  ///   - pusher: pushes durable jobs, so that callers do not wait for the broker; its `run()` must be running.
  ///     With nil each caller waits for its push, up to the broker's own time limits.
  ///   - middleware: around each enqueue and push, the outermost first.
  ///   - clock: delays count from its time.
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

  /// Changes the app's rows and enqueues jobs in one transaction, then pushes the jobs in one batch.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: @Sendable (JobTransaction<L>) async throws -> Result
  ) async throws -> Result {
    let outbox = Outbox()
    let result = try await ledger.withTransaction { [ledger, enqueuing] sql in
      _ = outbox.take()  // a transaction that the ledger reruns starts with an empty outbox
      return try await body(JobTransaction(sql: sql, ledger: ledger, outbox: outbox, enqueuing: enqueuing))
    }
    await pushPending(outbox.take())
    return result
  }

  /// Overload for closures that return `Void`, including a single call with an unused result.
  public func transaction(_ body: @Sendable (JobTransaction<L>) async throws -> Void) async throws {
    _ = try await transaction { transaction -> Bool in
      try await body(transaction)
      return true
    }
  }

  /// Enqueues a job in a separate transaction.
  ///
  /// - Returns: its id, or nil if a job with its unique key is pending, or middleware dropped it.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID? {
    try await transaction { try await $0.enqueue(job, options: options) }
  }

  /// Enqueues many jobs with one statement and one pipelined push.
  @discardableResult
  public func enqueue<J: Job>(_ jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    try await transaction { try await $0.enqueue(jobs, options: options) }
  }

  /// Pushes a job to the broker without a record: fast, but lost with the broker. Its payload has at most
  /// `PayloadLimit.unrecorded` bytes.
  ///
  /// - Returns: its id, or nil if middleware dropped it.
  @discardableResult
  public func push<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID? {
    let record = try JobRecord(job, options: options, isDurable: false, clock: enqueuing.clock)
    try record.check()
    return try await hand([record]).first
  }

  /// Pushes many jobs to the broker without records, in one pipeline.
  ///
  /// - Returns: the ids of the jobs that middleware did not drop.
  @discardableResult
  public func push<J: Job>(_ jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    // Encodes the next chunk while one is in flight; they are pushed in order.
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

  /// - Returns: the ids of the jobs that middleware did not drop.
  private func hand(_ records: [JobRecord]) async throws -> [JobID] {
    try await enqueuing.middleware.enqueue(records, checking: { try $0.check() }) { records in
      try await broker.push(records)
      return records.map(\.id)
    }
  }

  /// Pushes jobs that are already in the ledger. A failure delays them but loses none: the relay pushes them again.
  public func pushPending(_ records: [JobRecord]) async {
    if records.isEmpty { return }
    if let pusher { return pusher.offer(records) }
    do {
      try await broker.push(records)
      if setAway(false) { logger.info("the broker answers again") }
    } catch {
      // A worker pushes once per job. While the broker is away or full, one warning is enough.
      logger.log(
        level: setAway(true) ? .debug : .warning, "jobs are pending but not pushed; the relay will push them",
        metadata: [LogKeys.count: "\(records.count)", LogKeys.error: "\(error)"])
    }
  }

  /// - Returns: the former value.
  private func setAway(_ value: Bool) -> Bool {
    isAway.withLock { isAway in
      defer { isAway = value }
      return isAway
    }
  }
}
