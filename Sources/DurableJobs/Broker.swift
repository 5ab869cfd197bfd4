#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decides who runs what next, fast. It may be lost at any moment: what it owes is in the `Ledger`.
///
/// Every implementation passes the conformance suite in `DurableJobsTesting`.
public protocol Broker: Sendable {
  /// A worker's part in one of its queues.
  associatedtype Consumer: BrokerConsumer

  /// Makes jobs available. Pushing a durable job that the broker knows changes nothing.
  ///
  /// Of a durable job a payload over `PayloadLimit.carried` bytes is not taken: its claims say how large it is
  /// (`JobRecord.payloadInLedger`), and who runs it reads it in the ledger.
  ///
  /// - Throws: `BrokerError`; with `.full` or `.unavailable` nothing is lost of durable jobs, since the relay pushes
  ///   again.
  func push(_ jobs: [JobRecord]) async throws

  /// Makes durable jobs available as `push` does, also where the queue is held for older ones.
  func repush(_ jobs: [JobRecord]) async throws

  /// Since when the broker has refused durable jobs of a queue, and so takes none of it but by `repush`: else newer
  /// ones would overtake those that were refused.
  ///
  /// - Returns: the time in the oldest refused job's id, in milliseconds since 1970; nil where nothing was refused.
  func hold(of queue: QueueName) async throws -> Date?

  /// Takes durable jobs of a queue again.
  func endHold(of queue: QueueName) async throws

  /// Joins a queue as one of its consumers.
  ///
  /// - Parameters:
  ///   - worker: unique among all that ever join.
  ///   - lease: how long the consumer's claims are its own after its last `heartbeat`.
  func join(_ queue: QueueName, worker: String, lease: Duration) async throws -> Consumer

  /// Those of `ids` that the broker does not know in `queue`: neither waiting nor delayed nor claimed.
  func missing(_ ids: [JobID], in queue: QueueName) async throws -> [JobID]

  /// What it holds of a queue; it costs the same however much that is.
  func depth(of queue: QueueName) async throws -> QueueDepth

  /// Forgets those of `ids` that nobody has claimed: ready ones and those that wait for their time.
  ///
  /// - Parameter ids: of durable jobs.
  /// - Returns: those that were there. A claimed one stays until its worker settles it.
  func remove(_ ids: [JobID], from queue: QueueName) async throws -> [JobID]

  /// Makes those of `ids` that nobody has claimed ready at `due`, in milliseconds since 1970; at once where that has
  /// passed.
  ///
  /// - Parameter ids: of durable jobs.
  /// - Returns: those that were there.
  func reschedule(_ ids: [JobID], in queue: QueueName, to due: Date) async throws -> [JobID]

  /// Forgets all that nobody has claimed. What the ledger owes of it comes back by and by.
  ///
  /// - Returns: how many jobs.
  func clear(_ queue: QueueName) async throws -> Int

  /// Remembers whether a queue is paused, for workers that start while their registry is away.
  func rememberPause(_ isPaused: Bool, of queue: QueueName) async throws

  /// Whether a queue was paused when the broker last heard of it.
  func remembersPause(of queue: QueueName) async throws -> Bool

  /// Where the loops that do nothing but talk to the broker run best; nil for no preference.
  var executor: (any TaskExecutor)? { get }
}

extension Broker {
  public var executor: (any TaskExecutor)? { nil }

  // A broker that never refuses for want of room holds nothing.
  public func repush(_ jobs: [JobRecord]) async throws { try await push(jobs) }
  public func hold(of queue: QueueName) async throws -> Date? { nil }
  public func endHold(of queue: QueueName) async throws {}
}

/// One worker's part in one queue.
public protocol BrokerConsumer: Sendable {
  /// Tells one life of the broker's queue from the next: it changes when the broker forgot everything.
  var epoch: String { get async }

  /// Takes up to `count` jobs, those of higher priority first. Waits up to `wait` for the first. `stopClaiming` ends
  /// the wait. Claiming counts no attempt: `begin` does.
  ///
  /// Up to `count` jobs of each priority may come where several have some, and fewer where their payloads are large:
  /// about `PayloadLimit.batch` bytes, and one job at least.
  func claim(_ count: Int, wait: Duration) async throws -> [Claim]

  /// Marks claims whose jobs begin. When their consumer dies, marked deliveries count as attempts; others do not.
  ///
  /// - Returns: the receipts of those claims that are still this consumer's.
  func begin(_ claims: [Claim]) async throws -> Set<String>

  /// Ends the claim that waits, if one does, and makes every later one return at once with nothing.
  func stopClaiming() async

  /// Ends the claim that waits, if one does. A later one waits as ever.
  func wakeClaim() async

  /// Forgets jobs that are done, dead or parked. Harmless for claims of others.
  func acknowledge(_ claims: [Claim]) async throws

  /// Makes each claim's job wait for its delay and then be ready, with the record given. A claim that is no longer this
  /// consumer's is left alone.
  func retry(_ retries: [ClaimRetry]) async throws

  /// Hands claims back at once, their attempt not counted.
  func release(_ claims: [Claim]) async throws

  /// Hands back claims of this life that never arrived, by the receipts that a heartbeat listed.
  func releaseUnreceived(_ receipts: [String]) async throws

  /// Renews the lease, moves due delayed jobs to the ready ones, hands on what dead consumers held: ready at once, or
  /// after a short delay of its own what was in dying hands before. A lease ends only while other consumers renew
  /// theirs. An outage of the broker ends no lease.
  ///
  /// - Parameter lists: whether to list the consumer's old claims (`Heartbeat.held`).
  func heartbeat(listingHeld lists: Bool) async throws -> Heartbeat

  /// Hands back all that the consumer still holds, attempts not counted, and ends its part.
  func leave() async throws
}

extension BrokerConsumer {
  /// A heartbeat that lists no claims.
  public func heartbeat() async throws -> Heartbeat { try await heartbeat(listingHeld: false) }
}

/// What a heartbeat found.
public struct Heartbeat: Sendable, Equatable {
  /// False when the consumer had been declared dead or forgotten, and has joined anew.
  public var keptLease: Bool
  /// The consumer's life as of this heartbeat: claims of an earlier one are not its own any more.
  public var incarnation: Int
  /// How long until a delayed job is due or a lease ends, if either is before the next usual heartbeat.
  public var nextDue: Duration?
  /// Jobs of dead consumers that were handed on.
  public var reaped: Int
  /// Receipts of this life's claims that are older than a lease, where the heartbeat was to list them. A worker that
  /// does not know one of them never received it.
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

/// A job in the hands of one consumer. A class, because a claim passes through many hands: each of them copies one
/// reference, not the whole record.
public final class Claim: Sendable {
  /// What is to be run.
  public let record: JobRecord
  /// Which attempt this is, 1 for the first.
  public let attempt: Int
  /// The broker's own name for this delivery.
  public let receipt: String
  /// Which life of the consumer claimed it: claims of an earlier life are not its own any more.
  public let incarnation: Int
  /// When the job became ready, by the broker's clock.
  public let readyAt: Date
  /// Whether the job was in a consumer's hands before and came back unsettled.
  public let isRedelivered: Bool

  /// - Parameter readyAt: nil for when the job was made.
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

/// A claim to be tried again after a pause.
public struct ClaimRetry: Sendable {
  /// What did not work out.
  public var claim: Claim
  /// How long it waits until it is ready again.
  public var delay: Duration
  /// The record to keep, with its attempts as counted so far.
  public var record: JobRecord

  public init(claim: Claim, delay: Duration, record: JobRecord) {
    self.claim = claim
    self.delay = delay
    self.record = record
  }
}

/// Why the broker did not do what was asked.
public struct BrokerError: Error, CustomStringConvertible {
  /// The kind of failure, open for more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
    /// It cannot be reached. Nothing is known about what was under way.
    public static let unavailable = Code("unavailable")
    /// It sheds load: memory is short. Durable jobs wait in the ledger.
    public static let full = Code("full")
    /// It is set up so that it could drop jobs.
    public static let unsafeConfiguration = Code("unsafe_configuration")
    /// It answered what it should not have.
    public static let unexpectedReply = Code("unexpected_reply")
  }

  public var code: Code
  /// What is wrong, where, and what to do.
  public var message: String
  /// What the broker's client threw, if it was that.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var description: String { message }
}
