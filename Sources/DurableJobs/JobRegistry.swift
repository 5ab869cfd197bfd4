import Logging

/// The kinds that a process can run, each with its handler.
///
/// ```swift
/// var registry = JobRegistry<PostgresLedger>()
/// registry.register(SendWelcome.self) { job, context in … }
/// registry.registerTransaction(CountPost.self) { job, transaction in … }
/// registry.registerBatch(CountLike.self, upTo: 500) { likes, transaction in … }
/// registry.registerBatch(AskOutside.self, upTo: 50) { batch in … }
/// ```
public struct JobRegistry<L: Ledger>: Sendable {
  /// One kind and how to run it.
  public struct Entry: Sendable {
    public let kind: JobKind
    public let queue: QueueName
    /// The newest payload version that the handler reads.
    public let version: Int
    public let retry: RetryPolicy
    public let timeout: Duration?
    /// The payload's fields, computed on demand; nil if unknown.
    public let fields: @Sendable () -> [PayloadField]?
    /// Checks a payload without running it.
    ///
    /// - Throws: `PayloadError`.
    public let validate: @Sendable ([UInt8], Int) throws -> Void
    let handler: Handler
  }

  enum Handler: Sendable {
    case single(@Sendable (JobRecord, JobContext<L>) async throws -> Void)
    /// Decodes all claims, then runs them in the given transaction. Throws `PayloadError` if one does not decode.
    case batch(limit: Int, run: @Sendable ([Claim], JobTransaction<L>) async throws -> Void)
    /// Runs the claims that decode; the handler ends its jobs itself.
    case openBatch(limit: Int, run: @Sendable ([Claim], BatchProgress<L>) async throws -> Void)

    /// The maximum number of jobs that run together; nil for a kind that runs one by one.
    var batchLimit: Int? {
      switch self {
      case .single: nil
      case .batch(let limit, _), .openBatch(let limit, _): limit
      }
    }
  }

  /// The registered kinds.
  public private(set) var entries: [JobKind: Entry] = [:]
  private var registeredTwice: Set<JobKind> = []

  /// An empty registry: every job would be parked.
  public init() {}

  /// Registers a handler that runs each job of a kind by itself.
  ///
  /// Register each kind once, here or with a method below: a worker refuses to run if a kind has two handlers.
  public mutating func register<J: Job>(
    _ type: J.Type, handler: @escaping @Sendable (J, JobContext<L>) async throws -> Void
  ) {
    add(
      type,
      .single { record, context in
        try await handler(try Self.decode(J.self, record.payload, record.version), context)
      })
  }

  /// Registers a handler that runs each job of a kind in the transaction that ends it, for handlers that do all their
  /// work there.
  public mutating func registerTransaction<J: Job>(
    _ type: J.Type, handler: @escaping @Sendable (J, JobTransaction<L>) async throws -> Void
  ) {
    register(type) { job, context in try await context.transaction { try await handler(job, $0) } }
  }

  /// Registers a handler that runs up to `limit` jobs of a kind together, in one transaction that ends all of them.
  ///
  /// When it fails, each half runs separately, and so on, so that one bad job does not fail its neighbours. The handler
  /// gets only jobs that are still pending.
  public mutating func registerBatch<J: Job>(
    _ type: J.Type, upTo limit: Int,
    handler: @escaping @Sendable ([BatchedJob<J>], JobTransaction<L>) async throws -> Void
  ) {
    precondition(limit > 0, "a batch must have room for at least one job")
    add(
      type,
      .batch(limit: limit) { claims, transaction in
        let jobs = try claims.map { claim in
          BatchedJob(
            id: claim.record.id, job: try Self.decode(J.self, claim.record.payload, claim.record.version),
            attempt: claim.attempt, trace: claim.record.trace?.id)
        }
        try await handler(jobs, transaction)
      })
  }

  /// Registers a handler that runs up to `limit` jobs of a kind together and makes external calls before it writes. No
  /// transaction is open until the handler opens one; it ends its jobs singly or together.
  ///
  /// A failed batch is not rerun with fewer jobs, since that would repeat its external calls. Jobs that it neither
  /// ended nor failed are retried later, each by its kind's policy.
  public mutating func registerBatch<J: Job>(
    _ type: J.Type, upTo limit: Int, handler: @escaping @Sendable (JobBatch<J, L>) async throws -> Void
  ) {
    precondition(limit > 0, "a batch must have room for at least one job")
    add(
      type,
      .openBatch(limit: limit) { claims, progress in
        var jobs: [BatchedJob<J>] = []
        for claim in claims {
          do {
            let job = try Self.decode(J.self, claim.record.payload, claim.record.version)
            jobs.append(
              BatchedJob(id: claim.record.id, job: job, attempt: claim.attempt, trace: claim.record.trace?.id))
          } catch {
            progress.fail(claim.record.id, error)
          }
        }
        if jobs.isEmpty { return }
        try await handler(JobBatch(jobs: jobs, progress: progress))
      })
  }

  /// Calls a job's handler once, as a worker would; the caller handles the result.
  ///
  /// - Returns: false if the kind has no handler.
  /// - Throws: the handler's error.
  package func call<B: Broker>(
    _ record: JobRecord, attempt: Int, client: JobClient<B, L>, logger: Logger
  ) async throws -> Bool {
    guard let entry = entries[record.kind] else { return false }
    let claim = Claim(record: record, attempt: attempt, receipt: "", incarnation: 0)
    switch entry.handler {
    case .single(let handler):
      let context = JobContext(
        id: record.id, kind: record.kind, queue: record.queue, attempt: attempt, createdAt: record.createdAt,
        trace: record.trace?.id, base: logger, isDurable: record.isDurable, ledger: client.ledger, outbox: Outbox(),
        enqueuing: client.enqueuing)
      try await handler(record, context)
      await client.pushPending(context.outbox.take())
    case .batch(_, let handler):
      try await client.transaction { transaction in
        _ = try await client.ledger.complete([record.id], queue: record.queue, in: transaction.sql)
        try await handler([claim], transaction)
      }
    case .openBatch(_, let handler):
      let progress = BatchProgress(
        queue: record.queue, durable: [record.id], ledger: client.ledger, enqueuing: client.enqueuing, logger: logger,
        push: { await client.pushPending($0) })
      try await handler([claim], progress)
      if case .failed(let error)? = progress.outcome(of: record.id) { throw error }
    }
    return true
  }

  /// The newest payload version of each registered kind.
  public var versions: [JobKind: Int] { entries.mapValues(\.version) }

  /// The registered kinds, sorted by name.
  var kinds: [JobKind] { entries.keys.sorted() }

  /// The default queues of the registered kinds.
  public var queues: [QueueName] { Set(entries.values.map(\.queue)).sorted() }

  /// - Throws: `KindRegisteredTwice`.
  func check() throws(KindRegisteredTwice) {
    if let kind = registeredTwice.min() { throw KindRegisteredTwice(kind: kind) }
  }

  private mutating func add<J: Job>(_ type: J.Type, _ handler: Handler) {
    if entries[J.kind] != nil { registeredTwice.insert(J.kind) }
    entries[J.kind] = Entry(
      kind: J.kind, queue: J.queue, version: J.payloadVersion, retry: J.retry, timeout: J.timeout,
      fields: { J.payloadFields },
      validate: { payload, version in _ = try Self.decode(J.self, payload, version) }, handler: handler)
  }

  private static func decode<J: Job>(_ type: J.Type, _ payload: [UInt8], _ version: Int) throws -> J {
    do {
      return try J(payload: payload, version: version)
    } catch let error as PayloadError {
      throw error
    } catch {
      throw PayloadError(kind: J.kind, underlying: error)
    }
  }
}

/// A kind has two handlers; which of them runs would depend on the order of registration.
public struct KindRegisteredTwice: Error, Hashable, CustomStringConvertible {
  public let kind: JobKind
  public var description: String {
    "the kind '\(kind)' is registered twice: register one handler, or give one of the two another kind"
  }
}
