#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A job as ledger and broker store it. The payload is opaque to both.
public struct JobRecord: Sendable, Hashable {
  public var id: JobID
  public var kind: JobKind
  public var queue: QueueName
  public var priority: JobPriority
  /// The version of the payload's form (`Job.payloadVersion`).
  public var version: Int
  /// UTF-8 text.
  public var payload: [UInt8]
  /// The size of a payload that stayed in the ledger, in bytes; `payload` is then empty until the job runs. nil if
  /// `payload` holds it.
  public var payloadInLedger: Int?
  /// Whether the ledger records the job. Otherwise it is lost with the broker.
  public var isDurable: Bool
  /// Attempts counted before this delivery.
  public var attempts: Int
  /// When it is due, to the millisecond; nil for now.
  public var runAt: Date?
  /// At most one pending job of a queue has a given key.
  public var uniqueKey: String?
  /// The errors so far, oldest first. The ledger keeps them for durable jobs; only broker-only jobs carry them.
  public var failures: [JobFailure]
  /// Number of attempts after which it is a dead letter; nil for its kind's (`Job.retry`).
  public var maxAttempts: Int?
  /// Time limit of an attempt; nil for its kind's (`Job.timeout`). Jobs that run in a batch share their kind's.
  public var timeout: Duration?
  /// The span of the trace that enqueued the job, which its attempts follow; nil for none.
  public var trace: TraceContext?

  public init(
    id: JobID = .next(), kind: JobKind, queue: QueueName, priority: JobPriority = .normal, version: Int = 1,
    payload: [UInt8], isDurable: Bool, attempts: Int = 0, runAt: Date? = nil, uniqueKey: String? = nil,
    maxAttempts: Int? = nil, timeout: Duration? = nil, failures: [JobFailure] = [], trace: TraceContext? = nil,
    payloadInLedger: Int? = nil
  ) {
    self.id = id
    self.kind = kind
    self.queue = queue
    self.priority = priority
    self.version = version
    self.payload = payload
    self.isDurable = isDurable
    self.attempts = attempts
    self.runAt = runAt
    self.uniqueKey = uniqueKey
    self.failures = failures
    self.maxAttempts = maxAttempts
    self.timeout = timeout
    self.trace = trace
    self.payloadInLedger = payloadInLedger
  }

  /// When the job was created, by its id.
  public var createdAt: Date { id.date }
}

/// One failed attempt.
public struct JobFailure: Sendable, Hashable, Codable {
  /// 1 for the first.
  public var attempt: Int
  /// When it failed, to the millisecond.
  public var at: Date {
    get { Date(unixMilliseconds: milliseconds) }
    set { milliseconds = newValue.unixMilliseconds }
  }
  private var milliseconds: Int64
  /// At most 2,000 bytes of the error's text, without zero bytes, which database text cannot contain.
  public var error: String
  /// The worker of the attempt, by `WorkerConfiguration.name`.
  public var worker: String

  // The stored form in the ledger and in the broker.
  private enum CodingKeys: String, CodingKey {
    case attempt, error, worker
    case milliseconds = "at"
  }

  public init(attempt: Int, at: Date, error: String, worker: String) {
    self.attempt = attempt
    milliseconds = at.unixMilliseconds
    self.error = String(decoding: error.utf8.lazy.filter { $0 != 0 }.prefix(2000), as: UTF8.self)
    self.worker = worker
  }
}

/// An enqueuer's choices for one job beyond its payload.
public struct JobOptions: Sendable {
  /// A queue other than the kind's own.
  public var queue: QueueName?
  /// Within its queue.
  public var priority: JobPriority
  /// Time from the enqueue until the job is due; nil for none.
  public var delay: Duration?
  /// When the job is due; nil for now. Set at most one of this and `delay`.
  public var at: Date?
  /// While a durable job with this key is pending in the queue, another is not added.
  public var uniqueKey: String?
  /// Number of attempts after which this job is a dead letter, 1 to 65,535; nil for its kind's.
  public var maxAttempts: Int?
  /// Time limit of an attempt, at least 1 ms; nil for its kind's. Jobs that run in a batch share their kind's.
  public var timeout: Duration?

  public init(
    queue: QueueName? = nil, priority: JobPriority = .normal, delay: Duration? = nil, at: Date? = nil,
    uniqueKey: String? = nil, maxAttempts: Int? = nil, timeout: Duration? = nil
  ) {
    self.queue = queue
    self.priority = priority
    self.delay = delay
    self.at = at
    self.uniqueKey = uniqueKey
    self.maxAttempts = maxAttempts
    self.timeout = timeout
  }

  /// When a job enqueued now is due; nil for now.
  ///
  /// - Throws: `InvalidJob` if both `delay` and `at` are set.
  func runAt(_ kind: JobKind, _ clock: any WallClock) throws(InvalidJob) -> Date? {
    guard let delay else { return at }
    if at != nil {
      throw InvalidJob(description: "a job of kind \(kind) has both a delay and a due time: give one of them")
    }
    return clock.now + delay / .seconds(1)
  }
}

extension JobRecord {
  /// A job ready to store or push, in the trace of the current task.
  ///
  /// - Throws: the errors of the kind's encoder.
  /// - Parameter clock: delays count from its time.
  public init<J: Job>(
    _ job: J, options: JobOptions = JobOptions(), isDurable: Bool, clock: any WallClock = .system
  ) throws {
    try self.init(job, id: .next(), options: options, isDurable: isDurable, trace: TraceContext.current, clock: clock)
  }

  private init<J: Job>(
    _ job: J, id: JobID, options: JobOptions, isDurable: Bool, trace: TraceContext?,
    clock: any WallClock
  ) throws {
    self.init(
      id: id, kind: J.kind, queue: options.queue ?? J.queue, priority: options.priority, version: J.payloadVersion,
      payload: try job.encodedPayload(), isDurable: isDurable, runAt: try options.runAt(J.kind, clock),
      uniqueKey: options.uniqueKey, maxAttempts: options.maxAttempts, timeout: options.timeout, trace: trace)
  }

  /// Checked records of many jobs, with ids in their order.
  ///
  /// - Throws: `InvalidJob`, or the errors of the kind's encoder.
  static func records<J: Job>(
    _ jobs: some Collection<J>, options: JobOptions, isDurable: Bool, clock: any WallClock = .system
  ) throws -> [JobRecord] {
    let trace = TraceContext.current
    let records = try zip(jobs, JobID.next(jobs.count)).map { job, id in
      try JobRecord(job, id: id, options: options, isDurable: isDurable, trace: trace, clock: clock)
    }
    for record in records { try record.check() }
    return records
  }

  /// Checked records of the first jobs, with ids in their order: as many as make one round trip, limited by number and
  /// by payload bytes.
  ///
  /// - Throws: `InvalidJob`, or the errors of the kind's encoder.
  static func unrecordedBatch<J: Job>(_ jobs: ArraySlice<J>, options: JobOptions, clock: any WallClock = .system) throws
    -> [JobRecord]
  {
    let trace = TraceContext.current
    let count = Swift.min(jobs.count, 1000)
    var records: [JobRecord] = []
    records.reserveCapacity(count)
    var bytes = 0
    for (job, id) in zip(jobs, JobID.next(count)) {
      let record = try JobRecord(job, id: id, options: options, isDurable: false, trace: trace, clock: clock)
      try record.check()
      bytes += record.payload.count
      records.append(record)
      // The next one still fits, regardless of its size.
      if bytes > PayloadLimit.batch - PayloadLimit.unrecorded { break }
    }
    return records
  }
}

/// A job that ledger and broker cannot store as it is.
public struct InvalidJob: Error, CustomStringConvertible {
  /// What is wrong, and what would be valid.
  public let description: String
}

extension JobRecord {
  /// Checks that the formats of ledger and broker can hold the job, so that no job is enqueued that could never be
  /// pushed, and checks the payload's size. Every enqueue and push calls it.
  ///
  /// - Throws: `InvalidJob`.
  public func check() throws(InvalidJob) {
    try checkForm()
    if !isDurable, uniqueKey != nil {
      throw InvalidJob(
        description: """
          a push of \(kind) has a unique key, and only the ledger compares keys: enqueue the job, or leave the key out
          """)
    }
    let limit = isDurable ? PayloadLimit.job : min(PayloadLimit.job, PayloadLimit.unrecorded)
    if payload.count > limit {
      let remedy = isDurable || payload.count > PayloadLimit.job
      throw InvalidJob(
        description: """
          the payload of \(kind) has \(payload.count) bytes, which is over the limit of \(limit)\
          \(isDurable ? "" : " for a push"): \
          \(remedy ? "store large data elsewhere and refer to it" : "enqueue it")
          """)
    }
  }

  /// Checks the format only, for a job accepted before, such as a dead letter or a job that the relay pushes again: its
  /// size was checked then.
  ///
  /// - Throws: `InvalidJob`.
  func checkForm() throws(InvalidJob) {
    if !queue.isValid {
      throw InvalidJob(
        description: "'\(queue)' is not a valid queue name: use 1 to 64 letters, digits, '-', '_' and '.'")
    }
    let name = kind.rawValue.utf8
    if !(1...255).contains(name.count) || name.contains(0) {
      throw InvalidJob(description: "'\(kind)' is not a valid kind: use 1 to 255 bytes of text")
    }
    // 65535 marks payloads that stayed in the ledger.
    if !(0...65534).contains(version) {
      throw InvalidJob(description: "\(version) is not a valid payload version of \(kind): use 0 to 65534")
    }
    if let maxAttempts, !(1...65535).contains(maxAttempts) {
      throw InvalidJob(description: "a job of kind \(kind) cannot have \(maxAttempts) attempts: use 1 to 65535")
    }
    if let timeout, timeout < .milliseconds(1) {
      throw InvalidJob(description: "a job of kind \(kind) cannot have a time limit of \(timeout): use 1 ms or more")
    }
    if uniqueKey?.utf8.contains(0) == true {
      throw InvalidJob(description: "the unique key of a job of kind \(kind) contains a zero byte")
    }
    // The ledger stores text and the broker bytes: invalid UTF-8 would differ between the two.
    if let place = payload.firstByteThatIsNoText {
      throw InvalidJob(
        description: "the payload of \(kind) is not UTF-8 text: byte \(place) is invalid")
    }
  }
}
