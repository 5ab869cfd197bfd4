/// The kinds a process can run, each with its handler.
///
/// ```swift
/// var registry = JobRegistry<PostgresLedger>()
/// registry.register(SendWelcome.self) { job, context in … }
/// registry.registerBatch(CountLike.self, upTo: 500) { likes, transaction in … }
/// ```
public struct JobRegistry<L: Ledger>: Sendable {
  /// One kind and how to run it.
  public struct Entry: Sendable {
    public let kind: JobKind
    public let queue: QueueName
    public let version: Int
    public let retry: RetryPolicy
    public let timeout: Duration?
    /// Checks a payload without running it.
    ///
    /// - Throws: `PayloadError`.
    public let validate: @Sendable ([UInt8], Int) throws -> Void
    let handler: Handler
  }

  enum Handler: Sendable {
    case single(@Sendable (JobRecord, JobContext<L>) async throws -> Void)
    /// Decodes all and runs them in the given transaction. Throws `PayloadError` before it runs if one does not decode.
    case batch(limit: Int, run: @Sendable ([Claim], JobTransaction<L>) async throws -> Void)
  }

  public private(set) var entries: [JobKind: Entry] = [:]

  public init() {}

  /// Runs each job of a kind by itself.
  ///
  /// A kind is registered once; the later registration replaces the earlier.
  public mutating func register<J: Job>(
    _ type: J.Type, handler: @escaping @Sendable (J, JobContext<L>) async throws -> Void
  ) {
    add(
      type,
      .single { record, context in
        try await handler(try Self.decode(J.self, record.payload, record.version), context)
      })
  }

  /// Runs up to `limit` jobs of a kind at once, in one transaction that ends all of them.
  ///
  /// When it fails, each half is run by itself, and so on: one bad job does not take its neighbours along. The handler
  /// gets only jobs that are still owed.
  public mutating func registerBatch<J: Job>(
    _ type: J.Type, upTo limit: Int,
    handler: @escaping @Sendable ([BatchedJob<J>], JobTransaction<L>) async throws -> Void
  ) {
    precondition(limit > 0, "a batch has room for one job at least")
    add(
      type,
      .batch(limit: limit) { claims, transaction in
        let jobs = try claims.map { claim in
          BatchedJob(
            id: claim.record.id, job: try Self.decode(J.self, claim.record.payload, claim.record.version),
            attempt: claim.attempt)
        }
        try await handler(jobs, transaction)
      })
  }

  /// The newest payload version of each kind that can run here.
  public var versions: [JobKind: Int] { entries.mapValues(\.version) }

  /// The queues that the kinds name.
  public var queues: [QueueName] { Set(entries.values.map(\.queue)).sorted() }

  private mutating func add<J: Job>(_ type: J.Type, _ handler: Handler) {
    entries[J.kind] = Entry(
      kind: J.kind, queue: J.queue, version: J.payloadVersion, retry: J.retry, timeout: J.timeout,
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
