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

  /// Runs around an enqueue or a push: within the transaction for durable jobs. It may change the jobs, leave some out,
  /// or refuse them all by throwing.
  ///
  /// - Parameter next: goes on with these jobs and returns the ids of those that were added.
  func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID]

  /// Runs around each call of a handler. An error that it throws counts as the handler's own; a handler that it does
  /// not call has done nothing, and its jobs are complete.
  ///
  /// - Parameter next: calls the handler, and throws what that throws.
  func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws

  /// Hears of the end of each attempt, once it is decided what follows. It must not block.
  func ended(_ end: AttemptEnd, logger: Logger)

  /// The middleware for a kind in a queue, asked for once when a worker begins: for one that keeps state by kind, such
  /// as counters.
  ///
  /// - Parameter isHome: whether it is the kind's own queue.
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

/// Places at which middleware is called.
public struct JobHooks: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  public static let enqueue = JobHooks(rawValue: 1)
  public static let run = JobHooks(rawValue: 2)
  public static let ended = JobHooks(rawValue: 4)
  public static let all: JobHooks = [.enqueue, .run, .ended]
}

/// One call of a handler: with one job, or with those of a batch.
public struct JobAttempt: Sendable {
  /// At least one. Their attempts are counted from 1.
  public let claims: [Claim]
  /// The kind of all of them.
  public let kind: JobKind
  /// The queue that they were claimed from.
  public let queue: QueueName
  public let logger: Logger
}

/// How an attempt at a job ended.
public struct AttemptEnd: Sendable {
  /// What follows, open for more.
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
    /// The handler put the job off by `delay` (`JobSnooze`); no attempt is counted.
    public static let snoozed = Outcome(description: "snoozed")
    /// A shortage, such as of connections, kept the handler from its work (`JobHandback`); no attempt is counted.
    public static let handedBack = Outcome(description: "handed back")
    /// The worker stops; no attempt is counted.
    public static let released = Outcome(description: "released")
    /// The worker does not know the kind or the payload's version.
    public static let parked = Outcome(description: "parked")
    /// An operator cancelled the job.
    public static let cancelled = Outcome(description: "cancelled")
  }

  public let outcome: Outcome
  /// The job, and the number of the attempt.
  public let claim: Claim
  /// The error, or the reason of a discarded job; nil for other outcomes.
  public let error: String?
  /// Until the job is ready again; nil where it is not, or at once.
  public let delay: Duration?
  /// How long the handler ran. A job of a batch has its share of the batch's time.
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
