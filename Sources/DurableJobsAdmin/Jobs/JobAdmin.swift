import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis

/// What an operator does with jobs: look, ask for one, try one again, stop one. What changes something takes the name
/// of who does it, and stands in the action log.
public struct JobAdmin: Sendable {
  let client: JobClient<RedisBroker, PostgresLedger>
  public let kinds: JobKinds
  let clock: any Clock<Duration>

  /// Where the jobs are.
  public var database: JobsDatabase { client.ledger.database }
  /// Which of them runs next.
  public var broker: RedisBroker { client.broker }

  /// - Parameters:
  ///   - client: leads to the jobs, and says how long their push may take.
  ///   - clock: measures how long somebody waits.
  public init(
    _ client: JobClient<RedisBroker, PostgresLedger>, kinds: JobKinds, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.client = client
    self.kinds = kinds
    self.clock = clock
  }

  // MARK: Look

  /// A page of the jobs that `filter` lets through: pending ones, unless it asks for a state in which nothing is
  /// pending.
  ///
  /// - Throws: `.usage` for a limit or a cursor that cannot be.
  public func page(_ filter: JobFilter) async throws -> JobPage { try await Self.page(filter, on: database) }

  /// The same, where there is a database and no broker.
  public static func page(_ filter: JobFilter, on database: JobsDatabase) async throws -> JobPage {
    try OperationError.check(limit: filter.limit)
    if filter.state?.isPending ?? true { return try await PendingListing(filter: filter, database: database).page() }
    return try await FinishedListing(filter: filter, database: database).page()
  }

  /// - Throws: `.usage` if `id` cannot be a job's, `.notFound` if it is neither pending nor dead and no record of its
  ///   end is kept.
  public func show(_ id: String) async throws -> JobDetail {
    let id = try Self.parse(id)
    let history = try await database.history(of: id)
    guard let job = try await database.wholeJob(id) else { throw Self.unknown(id) }
    guard case .pending = job.row.place else { return JobDetail(job, isInBroker: nil, history) }
    let isMissing = try await !client.broker.missing([id], in: job.row.queue).isEmpty
    let running = RunningJobs(try await database.runningJobs())
    return JobDetail(job, isInBroker: !isMissing, history, isRunning: running.contains(id))
  }

  /// The job as the ledger knows it now, to which a running one waits; nil if there is none.
  func summary(_ id: JobID) async throws -> JobSummary? { try await database.job(id).map { JobSummary($0) } }

  static func unknown(_ id: JobID) -> OperationError {
    OperationError(.notFound, "no job \(id) is pending or dead: it is done, or it never was")
  }

  /// - Parameter what: what the text should be, for the message.
  static func parse(_ text: String, _ what: String = "a job's id") throws(OperationError) -> JobID {
    guard let id = JobID(text) else {
      throw OperationError(
        .usage, "'\(text)' is not \(what), which looks like \(JobID.min(at: 1_700_000_000_000))")
    }
    return id
  }
}
