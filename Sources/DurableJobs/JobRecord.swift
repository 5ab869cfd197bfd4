/// A job as it is kept and sent: what ledger and broker know of it. The payload is opaque to both.
public struct JobRecord: Sendable, Hashable {
  public var id: JobID
  public var kind: JobKind
  public var queue: QueueName
  public var priority: JobPriority
  /// The version of the payload's form (`Job.payloadVersion`).
  public var version: Int
  /// UTF-8 text.
  public var payload: [UInt8]
  /// How many bytes the payload has where it stayed in the ledger and `payload` is empty until the job runs; nil where
  /// the record has it.
  public var payloadInLedger: Int?
  /// Whether the ledger holds it. A job that it does not hold lives and dies with the broker.
  public var isDurable: Bool
  /// Attempts that were counted before this delivery.
  public var attempts: Int
  /// Milliseconds since 1970; nil for "at once".
  public var runAt: Int64?
  /// At most one pending job of a queue has a given key.
  public var uniqueKey: String?
  /// What went wrong so far, oldest first. The ledger keeps this for durable jobs; only broker-only ones carry it
  /// along.
  public var failures: [JobFailure]
  /// Names the request or the tick that the job follows from; nil where nobody said.
  public var trace: TraceID?

  public init(
    id: JobID = .next(), kind: JobKind, queue: QueueName, priority: JobPriority = .normal, version: Int = 1,
    payload: [UInt8], isDurable: Bool, attempts: Int = 0, runAt: Int64? = nil, uniqueKey: String? = nil,
    failures: [JobFailure] = [], trace: TraceID? = nil, payloadInLedger: Int? = nil
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
    self.trace = trace
    self.payloadInLedger = payloadInLedger
  }

  /// Milliseconds since 1970 at which the job was made.
  public var createdAt: Int64 { id.milliseconds }
}

/// One failed attempt.
public struct JobFailure: Sendable, Hashable, Codable {
  /// 1 for the first.
  public var attempt: Int
  /// Milliseconds since 1970.
  public var at: Int64
  /// At most 2,000 bytes of what was thrown, without zero bytes, which a database's text cannot hold.
  public var error: String
  /// Who tried, by `WorkerConfiguration.name`.
  public var worker: String

  public init(attempt: Int, at: Int64, error: String, worker: String) {
    self.attempt = attempt
    self.at = at
    self.error = String(decoding: error.utf8.lazy.filter { $0 != 0 }.prefix(2000), as: UTF8.self)
    self.worker = worker
  }
}

/// What an enqueuer may say about one job beyond its payload.
public struct JobOptions: Sendable {
  /// Another queue than the kind's own.
  public var queue: QueueName?
  /// Within its queue.
  public var priority: JobPriority
  /// Milliseconds since 1970 before which the job does not start; nil for at once.
  public var runAt: Int64?
  /// While a durable job with this key is pending in the queue, another is not added.
  public var uniqueKey: String?

  public init(
    queue: QueueName? = nil, priority: JobPriority = .normal, runAt: Int64? = nil, uniqueKey: String? = nil
  ) {
    self.queue = queue
    self.priority = priority
    self.runAt = runAt
    self.uniqueKey = uniqueKey
  }
}

extension JobRecord {
  /// A job ready to be kept or sent, in the trace of the task that asks for it.
  ///
  /// - Throws: what the kind's encoder throws.
  public init<J: Job>(_ job: J, options: JobOptions = JobOptions(), isDurable: Bool) throws {
    try self.init(job, id: .next(), options: options, isDurable: isDurable, trace: TraceContext.current?.id)
  }

  private init<J: Job>(_ job: J, id: JobID, options: JobOptions, isDurable: Bool, trace: TraceID?) throws {
    self.init(
      id: id, kind: J.kind, queue: options.queue ?? J.queue, priority: options.priority, version: J.payloadVersion,
      payload: try job.encodedPayload(), isDurable: isDurable, runAt: options.runAt, uniqueKey: options.uniqueKey,
      trace: trace)
  }

  /// Records of many jobs, checked, with ids in their order.
  ///
  /// - Throws: `InvalidJob`, what the kind's encoder throws.
  static func records<J: Job>(
    _ jobs: some Collection<J>, options: JobOptions, isDurable: Bool
  ) throws -> [JobRecord] {
    let trace = TraceContext.current?.id
    let records = try zip(jobs, JobID.next(jobs.count)).map { job, id in
      try JobRecord(job, id: id, options: options, isDurable: isDurable, trace: trace)
    }
    for record in records { try record.check() }
    return records
  }

  /// Records of the first jobs, checked, with ids in their order: as many as are worth a round trip, which are bounded
  /// by their number and by their payloads' bytes.
  ///
  /// - Throws: `InvalidJob`, what the kind's encoder throws.
  static func unrecordedBatch<J: Job>(_ jobs: ArraySlice<J>, options: JobOptions) throws -> [JobRecord] {
    let trace = TraceContext.current?.id
    let count = Swift.min(jobs.count, 1000)
    var records: [JobRecord] = []
    records.reserveCapacity(count)
    var bytes = 0
    for (job, id) in zip(jobs, JobID.next(count)) {
      let record = try JobRecord(job, id: id, options: options, isDurable: false, trace: trace)
      try record.check()
      bytes += record.payload.count
      records.append(record)
      // The next one still fits, whatever its size.
      if bytes > PayloadLimit.batch - PayloadLimit.unrecorded { break }
    }
    return records
  }
}

/// A job that ledger and broker cannot take as it is.
public struct InvalidJob: Error, CustomStringConvertible {
  /// What is wrong and what would be right.
  public let description: String
}

extension JobRecord {
  /// Checks what the forms of ledger and broker have room for, before anything is enqueued that could never be pushed,
  /// and how large the payload is. Every way in comes through here.
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
          \(remedy ? "keep what is large elsewhere and name its place" : "enqueue it")
          """)
    }
  }

  /// The same for a job that was let in before, such as a dead letter or what the relay pushes again, whose size was
  /// checked then.
  ///
  /// - Throws: `InvalidJob`.
  func checkForm() throws(InvalidJob) {
    if !queue.isValid {
      throw InvalidJob(
        description: "'\(queue)' cannot be a queue's name: use 1 to 64 letters, digits, '-', '_' and '.'")
    }
    let name = kind.rawValue.utf8
    if !(1...255).contains(name.count) || name.contains(0) {
      throw InvalidJob(description: "'\(kind)' cannot be a kind: use 1 to 255 bytes of text")
    }
    // 65535 marks payloads that stayed in the ledger.
    if !(0...65534).contains(version) {
      throw InvalidJob(description: "\(version) cannot be the payload version of \(kind): use 0 to 65534")
    }
    if uniqueKey?.utf8.contains(0) == true {
      throw InvalidJob(description: "the unique key of a job of kind \(kind) holds a zero byte")
    }
    // The ledger keeps text and the broker keeps bytes: what is not text would be two things.
    if let place = payload.firstByteThatIsNoText {
      throw InvalidJob(
        description: "the payload of \(kind) is not text in UTF-8: byte \(place) does not belong there")
    }
  }
}
