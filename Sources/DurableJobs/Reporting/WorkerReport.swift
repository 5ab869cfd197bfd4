#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A worker's report on itself.
public struct WorkerReport: Sendable, Hashable {
  /// A worker's state.
  public enum State: String, Codable, Sendable, CaseIterable {
    case running
    /// It claims no more jobs; running jobs continue.
    case quiet
    /// It claims no more jobs and ends once none is running.
    case stopping
  }

  /// A queue that the worker serves.
  public struct Queue: Codable, Sendable, Hashable {
    public let queue: QueueName
    /// How many of its jobs run at once.
    public let concurrency: Int

    // The registry and JSON keep the original name.
    private enum CodingKeys: String, CodingKey {
      case queue
      case concurrency = "slots"
    }

    public init(queue: QueueName, concurrency: Int) {
      self.queue = queue
      self.concurrency = concurrency
    }
  }

  /// A job that the worker is running.
  public struct Running: Codable, Sendable, Hashable {
    public let id: JobID
    public let kind: JobKind
    public let queue: QueueName
    /// 1 for the first.
    public let attempt: Int
    /// When its handler was called, in whole milliseconds.
    public let since: Date

    public init(id: JobID, kind: JobKind, queue: QueueName, attempt: Int, since: Date) {
      self.id = id
      self.kind = kind
      self.queue = queue
      self.attempt = attempt
      self.since = since
    }

    private enum CodingKeys: String, CodingKey {
      case id, kind, queue, attempt, since
    }

    /// The registry keeps milliseconds since 1970.
    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      id = try values.decode(JobID.self, forKey: .id)
      kind = try values.decode(JobKind.self, forKey: .kind)
      queue = try values.decode(QueueName.self, forKey: .queue)
      attempt = try values.decode(Int.self, forKey: .attempt)
      since = Date(unixMilliseconds: try values.decode(Int64.self, forKey: .since))
    }

    public func encode(to encoder: any Encoder) throws {
      var values = encoder.container(keyedBy: CodingKeys.self)
      try values.encode(id, forKey: .id)
      try values.encode(kind, forKey: .kind)
      try values.encode(queue, forKey: .queue)
      try values.encode(attempt, forKey: .attempt)
      try values.encode(since.unixMilliseconds, forKey: .since)
    }
  }

  /// Unique among all workers, past ones included.
  public var name: String
  /// The host of its process.
  public var host: String
  /// The id of its process on that host.
  public var pid: Int32
  /// The program's version.
  public var version: String
  public var startedAt: Date
  public var state: State
  public var queues: [Queue]
  /// To the ledger's server; nil if unknown.
  public var connections: WorkerConnections?
  /// The running jobs, at most `maxRunning` of them.
  public var running: [Running]
  /// Counts since the previous batch; empty in most reports.
  public var minutes: [JobMinute]
  /// The number of this batch of minutes. An unanswered report's batch is sent again under the same number.
  public var batch: Int64
  /// How long a worker may be silent before its jobs are redelivered. Sessions of lost workers end with their leases.
  public var lease: Duration

  /// The maximum number of running jobs in a report.
  public static let maxRunning = 200

  public init(
    name: String, host: String, pid: Int32, version: String, startedAt: Date, state: State = .running,
    queues: [Queue] = [], connections: WorkerConnections? = nil, running: [Running] = [], minutes: [JobMinute] = [],
    batch: Int64 = 0, lease: Duration = .seconds(3)
  ) {
    self.connections = connections
    self.lease = lease
    self.name = name
    self.host = host
    self.pid = pid
    self.version = version
    self.startedAt = startedAt
    self.state = state
    self.queues = queues
    self.running = running
    self.minutes = minutes
    self.batch = batch
  }
}

/// The outcomes of one kind's jobs of one queue in one minute.
public struct JobMinute: Sendable, Hashable {
  /// The start of the minute.
  public var minute: Date
  public var queue: QueueName
  public var kind: JobKind
  public var counts: JobCounts

  public init(minute: Date, queue: QueueName, kind: JobKind, counts: JobCounts) {
    self.minute = minute
    self.queue = queue
    self.kind = kind
    self.counts = counts
  }
}
