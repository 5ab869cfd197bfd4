import Logging

/// Code around every enqueue and every attempt, such as logging, metrics and tracing.
///
/// ```swift
/// struct TenantMiddleware: JobMiddleware {
///   var hooks: JobHooks { .run }
///
///   func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws {
///     try await Tenant.$current.withValue(attempt.queue.rawValue) { try await next() }
///   }
/// }
/// ```
/// A worker has the middleware of its `WorkerConfiguration`, a client its own. The first of a list is the outermost.
public protocol JobMiddleware: Sendable {
  /// The hooks that it implements; the others are not called.
  var hooks: JobHooks { get }

  /// Runs around an enqueue or a push, within the transaction for durable jobs. It may change the jobs, drop some, or
  /// reject them all by throwing.
  ///
  /// - Parameter next: continues with these jobs and returns the ids of those that were added.
  func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID]

  /// Runs around each call of a handler. Its errors count as the handler's own. If it does not call the handler, the
  /// jobs are complete without having run.
  ///
  /// - Parameter next: calls the handler, and throws its errors.
  func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws

  /// Called at the end of each attempt, once its outcome is decided. It must not block.
  func ended(_ end: AttemptEnd, logger: Logger)

  /// The middleware for a kind in a queue, requested once when a worker starts: for middleware with state per kind,
  /// such as counters.
  ///
  /// - Parameter isHome: whether the queue is the kind's own.
  func serving(_ kind: JobKind, in queue: QueueName, isHome: Bool) -> any JobMiddleware
}

extension JobMiddleware {
  public var hooks: JobHooks { .all }

  public func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID] {
    try await next(jobs)
  }

  public func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws { try await next() }

  public func ended(_ end: AttemptEnd, logger: Logger) {}

  public func serving(_ kind: JobKind, in queue: QueueName, isHome: Bool) -> any JobMiddleware { self }
}

/// The points at which middleware is called.
public struct JobHooks: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  public static let enqueue = JobHooks(rawValue: 1)
  public static let run = JobHooks(rawValue: 2)
  public static let ended = JobHooks(rawValue: 4)
  public static let all: JobHooks = [.enqueue, .run, .ended]
}

/// One call of a handler, with one job or with those of a batch.
public struct JobAttempt: Sendable {
  /// At least one. Attempts count from 1.
  public let claims: [Claim]
  /// The kind of all of them.
  public let kind: JobKind
  /// The queue that they were claimed from.
  public let queue: QueueName
  public let logger: Logger
}

/// How an attempt at a job ended.
public struct AttemptEnd: Sendable {
  /// The outcome, open for more.
  public struct Outcome: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The job is done.
    public static let completed = Outcome(description: "completed")
    /// The attempt failed, and the job is retried after `delay`.
    public static let failed = Outcome(description: "failed")
    /// The last attempt failed.
    public static let dead = Outcome(description: "dead")
    /// The handler discarded the job (`JobDiscard`).
    public static let discarded = Outcome(description: "discarded")
    /// The handler snoozed the job for `delay` (`JobSnooze`); no attempt is counted.
    public static let snoozed = Outcome(description: "snoozed")
    /// A shortage, for example of connections, stopped the handler (`JobHandback`); no attempt is counted.
    public static let handedBack = Outcome(description: "handed back")
    /// The worker is stopping; no attempt is counted.
    public static let released = Outcome(description: "released")
    /// The worker does not know the kind or the payload version.
    public static let parked = Outcome(description: "parked")
    /// An operator cancelled the job.
    public static let cancelled = Outcome(description: "cancelled")
  }

  public let outcome: Outcome
  /// The job, with the number of the attempt.
  public let claim: Claim
  /// The error, or the reason for a discard; nil for other outcomes.
  public let error: String?
  /// Time until the job is ready again; nil if it is not retried, or at once.
  public let delay: Duration?
  /// How long the handler ran. A job of a batch gets its share of the batch's time.
  public let runTime: Duration
  /// How long the job was ready before the attempt began.
  public let waitTime: Duration
}

extension AttemptEnd {
  init(_ end: JobOutcome, of claim: Claim, runTime: Duration, waitTime: Duration) {
    var (error, delay): (String?, Duration?) = (nil, nil)
    switch end {
    case .acknowledge, .complete: outcome = .completed
    case .retry(let failure, let pause): (outcome, error, delay) = (.failed, failure.error, pause)
    case .deadLetter(let failure): (outcome, error) = (.dead, failure.error)
    case .discard(let failure): (outcome, error) = (.discarded, failure.error)
    case .snooze(let pause): (outcome, delay) = (.snoozed, pause)
    case .handBack(let reason): (outcome, error) = (.handedBack, reason)
    case .release: outcome = .released
    case .park: outcome = .parked
    case .cancel: outcome = .cancelled
    }
    self.claim = claim
    self.error = error
    self.delay = delay
    self.runTime = runTime
    self.waitTime = waitTime
  }
}
