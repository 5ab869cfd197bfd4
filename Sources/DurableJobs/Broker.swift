#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decides which worker runs what next, fast. It may lose its data at any moment: every durable job is in the `Ledger`.
///
/// Every implementation passes the conformance suite in `DurableJobsTesting`.
public protocol Broker: Sendable {
  /// A worker's part in one of its queues.
  associatedtype Consumer: BrokerConsumer

  /// Makes jobs available. Pushing a durable job that the broker knows changes nothing.
  ///
  /// The broker does not take a durable job's payload over `PayloadLimit.carried` bytes: its claims carry only the size
  /// (`JobRecord.payloadInLedger`), and the worker reads the payload in the ledger.
  ///
  /// - Throws: `BrokerError`; `.full` and `.unavailable` lose no durable jobs, since the relay pushes them again.
  func push(_ jobs: [JobRecord]) async throws

  /// Makes durable jobs available as `push` does, even while the queue is held for older ones.
  func repush(_ jobs: [JobRecord]) async throws

  /// The start of a queue's hold. Once the broker has refused durable jobs of a queue, it takes its jobs only through
  /// `repush`, so that newer jobs do not overtake the refused ones.
  ///
  /// - Returns: the time in the oldest refused job's id, nil if nothing was refused.
  func hold(of queue: QueueName) async throws -> Date?

  /// Accepts durable jobs of a queue again.
  func endHold(of queue: QueueName) async throws

  /// Joins a queue as one of its consumers.
  ///
  /// - Parameters:
  ///   - worker: unique among all workers that ever join.
  ///   - lease: how long the consumer keeps its claims after its last `heartbeat`.
  func join(_ queue: QueueName, worker: String, lease: Duration) async throws -> Consumer

  /// Returns those of `ids` that the broker does not know in `queue`: neither ready nor delayed nor claimed.
  func missing(_ ids: [JobID], in queue: QueueName) async throws -> [JobID]

  /// Counts a queue's jobs, at a constant cost however many there are.
  func depth(of queue: QueueName) async throws -> QueueDepth

  /// Removes those of `ids` that are ready or delayed, but not claimed.
  ///
  /// - Parameter ids: of durable jobs.
  /// - Returns: the removed ones. A claimed job stays until its worker settles it.
  func remove(_ ids: [JobID], from queue: QueueName) async throws -> [JobID]

  /// Makes those of `ids` that are not claimed ready at `due`, or at once if that has
  /// passed.
  ///
  /// - Parameter ids: of durable jobs.
  /// - Returns: the rescheduled ones.
  func reschedule(_ ids: [JobID], in queue: QueueName, to due: Date) async throws -> [JobID]

  /// Removes all jobs that are not claimed. The relay gradually pushes the durable ones again.
  ///
  /// - Returns: the number of removed jobs.
  func clear(_ queue: QueueName) async throws -> Int

  /// Remembers whether a queue is paused, for workers that start while their registry is unavailable.
  func rememberPause(_ isPaused: Bool, of queue: QueueName) async throws

  /// Whether a queue was paused when `rememberPause` was last called.
  func remembersPause(of queue: QueueName) async throws -> Bool

  /// The preferred executor for loops that only talk to the broker; nil for no preference.
  var executor: (any TaskExecutor)? { get }
}

extension Broker {
  public var executor: (any TaskExecutor)? { nil }

  // A broker that never refuses jobs for lack of memory has no holds.
  public func repush(_ jobs: [JobRecord]) async throws { try await push(jobs) }
  public func hold(of queue: QueueName) async throws -> Date? { nil }
  public func endHold(of queue: QueueName) async throws {}
}

/// One worker's part in one queue.
public protocol BrokerConsumer: Sendable {
  /// Identifies the current data of the broker's queue: it changes when the broker lost everything.
  var epoch: String { get async }

  /// Claims up to `count` jobs, higher priorities first. Waits up to `wait` for the first; `stopClaiming` ends the
  /// wait. Claiming counts no attempt: `begin` does.
  ///
  /// It may return up to `count` jobs of each priority, and fewer if their payloads are large: about
  /// `PayloadLimit.batch` bytes, but at least one job.
  func claim(_ count: Int, wait: Duration) async throws -> [Claim]

  /// Marks claims whose jobs begin. When their consumer dies, marked deliveries count as attempts; others do not.
  ///
  /// - Returns: the receipts of the claims that this consumer still holds.
  func begin(_ claims: [Claim]) async throws -> Set<String>

  /// Ends the waiting claim, if any, and makes every later one return nothing at once.
  func stopClaiming() async

  /// Ends the waiting claim, if any. Later claims wait as usual.
  func wakeClaim() async

  /// Removes jobs that are done, dead or parked. Harmless for claims that the consumer no longer holds.
  func acknowledge(_ claims: [Claim]) async throws

  /// Delays each claim's job, and stores the given record with it. Claims that the consumer no longer holds are left
  /// alone.
  func retry(_ retries: [ClaimRetry]) async throws

  /// Hands claims back at once. Their attempts are not counted.
  func release(_ claims: [Claim]) async throws

  /// Hands back claims of this incarnation that never arrived, by the receipts that a heartbeat listed.
  func releaseUnreceived(_ receipts: [String]) async throws

  /// Renews the lease, makes due delayed jobs ready, and redelivers the claims of dead consumers: at once, or, if a
  /// consumer that held the job died before, after a short delay, different for each job. A lease expires only while
  /// other consumers renew theirs, so an outage of the broker expires none.
  ///
  /// - Parameter lists: whether to list the consumer's old claims (`Heartbeat.held`).
  func heartbeat(listingHeld lists: Bool) async throws -> Heartbeat

  /// Hands back all claims that the consumer still holds, attempts not counted, and leaves the queue.
  func leave() async throws
}

extension BrokerConsumer {
  /// A heartbeat that lists no claims.
  public func heartbeat() async throws -> Heartbeat { try await heartbeat(listingHeld: false) }
}

/// The result of a heartbeat.
public struct Heartbeat: Sendable, Equatable {
  /// False if the consumer had been declared dead or was unknown, and has joined again.
  public var keptLease: Bool
  /// The consumer's incarnation as of this heartbeat: it no longer holds claims of earlier ones.
  public var incarnation: Int
  /// Time until a delayed job is due or a lease expires, if that is before the next regular heartbeat.
  public var nextDue: Duration?
  /// The number of redelivered jobs of dead consumers.
  public var reaped: Int
  /// Receipts of this incarnation's claims that are older than a lease, if the heartbeat was to list them. If the
  /// worker does not know one of them, it never received that claim.
  public var held: [String]

  public init(
    keptLease: Bool, incarnation: Int, nextDue: Duration? = nil, reaped: Int = 0, held: [String] = []
  ) {
    self.keptLease = keptLease
    self.incarnation = incarnation
    self.nextDue = nextDue
    self.reaped = reaped
    self.held = held
  }
}

/// A job claimed by one consumer. It is a class because many functions pass it along: each copies one reference
/// instead of the whole record.
public final class Claim: Sendable {
  /// The job to run.
  public let record: JobRecord
  /// The number of this attempt, from 1.
  public let attempt: Int
  /// The broker's own name for this delivery.
  public let receipt: String
  /// The consumer's incarnation that claimed it: the consumer no longer holds claims of earlier ones.
  public let incarnation: Int
  /// When the job became ready, by the broker's clock.
  public let readyAt: Date
  /// Whether a consumer claimed the job before and did not settle it.
  public let isRedelivered: Bool

  /// - Parameter readyAt: nil for the job's creation time.
  public init(
    record: JobRecord, attempt: Int, receipt: String, incarnation: Int, readyAt: Date? = nil,
    isRedelivered: Bool = false
  ) {
    self.isRedelivered = isRedelivered
    self.record = record
    self.attempt = attempt
    self.receipt = receipt
    self.incarnation = incarnation
    self.readyAt = readyAt ?? record.createdAt
  }

  /// The same delivery with another record of its job.
  func with(_ record: JobRecord) -> Claim {
    Claim(
      record: record, attempt: attempt, receipt: receipt, incarnation: incarnation, readyAt: readyAt,
      isRedelivered: isRedelivered)
  }
}

/// A claim to retry after a delay.
public struct ClaimRetry: Sendable {
  /// The claim to retry.
  public var claim: Claim
  /// Time until the job is ready again.
  public var delay: Duration
  /// The record to store, with its attempts as counted so far.
  public var record: JobRecord

  public init(claim: Claim, delay: Duration, record: JobRecord) {
    self.claim = claim
    self.delay = delay
    self.record = record
  }
}

/// A request that the broker did not fulfil.
public struct BrokerError: Error, CustomStringConvertible {
  /// The kind of failure, open for more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
    /// The broker cannot be reached. The outcome of pending requests is unknown.
    public static let unavailable = Code("unavailable")
    /// The broker sheds load because memory is short. Durable jobs wait in the ledger.
    public static let full = Code("full")
    /// The broker's configuration could make it drop jobs.
    public static let unsafeConfiguration = Code("unsafe_configuration")
    /// The broker's reply does not match its protocol.
    public static let unexpectedReply = Code("unexpected_reply")
  }

  public var code: Code
  /// What is wrong, where, and what to do about it.
  public var message: String
  /// The broker client's error, if one caused this.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var description: String { message }
}
