/// What a worker says of itself.
public struct WorkerReport: Sendable, Hashable {
  /// How it stands with a worker.
  public enum State: String, Codable, Sendable, CaseIterable {
    case running
    /// It claims no more; what runs goes on.
    case quiet
    /// It claims no more and ends when nothing runs any more.
    case stopping
  }

  /// A queue that it serves.
  public struct Queue: Codable, Sendable, Hashable {
    public let queue: QueueName
    /// How many of its jobs run at once.
    public let concurrency: Int

    // The registry and JSON keep the name that they always had.
    private enum CodingKeys: String, CodingKey {
      case queue
      case concurrency = "slots"
    }

    public init(queue: QueueName, concurrency: Int) {
      self.queue = queue
      self.concurrency = concurrency
    }
  }

  /// A job that it runs.
  public struct Running: Codable, Sendable, Hashable {
    public let id: JobID
    public let kind: JobKind
    public let queue: QueueName
    /// 1 for the first.
    public let attempt: Int
    /// Milliseconds since 1970 at which its handler was called.
    public let since: Int64

    public init(id: JobID, kind: JobKind, queue: QueueName, attempt: Int, since: Int64) {
      self.id = id
      self.kind = kind
      self.queue = queue
      self.attempt = attempt
      self.since = since
    }
  }

  /// Unique among all workers that ever were.
  public var name: String
  /// Where its process is.
  public var host: String
  /// Of its process, on its host.
  public var pid: Int32
  /// Of the program.
  public var version: String
  /// Milliseconds since 1970.
  public var startedAt: Int64
  public var state: State
  public var queues: [Queue]
  /// To the ledger's server; nil where the worker does not say.
  public var connections: WorkerConnections?
  /// The first of them, where batches make them many.
  public var running: [Running]
  /// What was done since the batch before; empty in most reports.
  public var minutes: [JobMinute]
  /// Counts the worker's batches of minutes. A report that was not answered brings its batch again under the same
  /// number.
  public var batch: Int64
  /// How long workers may be silent before their jobs are others'. Sessions of workers that are go with their leases.
  public var lease: Duration

  /// How many running jobs a report names at most.
  public static let maxRunning = 200

  public init(
    name: String, host: String, pid: Int32, version: String, startedAt: Int64, state: State = .running,
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

/// What became of one kind's jobs of one queue in one minute.
public struct JobMinute: Sendable, Hashable {
  /// Milliseconds since 1970 at which the minute began.
  public var minute: Int64
  public var queue: QueueName
  public var kind: JobKind
  public var counts: JobCounts

  public init(minute: Int64, queue: QueueName, kind: JobKind, counts: JobCounts) {
    self.minute = minute
    self.queue = queue
    self.kind = kind
    self.counts = counts
  }
}

/// What became of jobs, and how long they took: sums.
public struct JobCounts: Sendable, Hashable {
  /// Jobs that are done.
  public var completed = 0
  /// Attempts that failed and are made again.
  public var failed = 0
  /// Jobs that are not tried any more.
  public var dead = 0
  /// For how long attempts ran, in nanoseconds. A job of a batch took its part of the batch's time.
  public var run: Int64 = 0
  /// How long the jobs were ready before they began, in nanoseconds.
  public var wait: Int64 = 0

  public init() {}

  /// Whether nothing was done.
  public var isEmpty: Bool { completed + failed + dead == 0 }

  public static func += (sum: inout JobCounts, more: JobCounts) {
    sum.completed += more.completed
    sum.failed += more.failed
    sum.dead += more.dead
    sum.run += more.run
    sum.wait += more.wait
  }
}
