import DurableJobsPostgres
import Foundation

/// The state of the whole stack at one moment: what every process shows of it at `/metrics`, and what the autoscaling
/// route returns.
///
/// The leading watcher takes one every few seconds and stores it in a single Postgres row, so that a scrape queries
/// nothing else. Its JSON may lack fields that an older version does not know, or have those of a newer one.
public struct StackSample: Codable, Sendable, Hashable {
  public var at: Date
  public var queues: [QueueSample] = []
  /// The jobs in the ledger and the dead letters. Counting is slow, so these may be older than the rest.
  public var jobs: [JobCount]?
  /// nil if the broker cannot be reached.
  public var broker: BrokerMemory?
  /// The app's own gauges.
  public var gauges: [Gauge]?
  public var alarms: [OpenAlarm]?
  /// How long the oldest snapshot in Postgres has been held, in seconds; 0 without any.
  public var oldestSnapshot: Double?

  public init(at: Date) { self.at = at }

  /// One queue. It has the members of its ``numbers``, and its JSON has their keys.
  @dynamicMemberLookup
  public struct QueueSample: Sendable, Hashable {
    public var numbers: QueueNumbers
    /// How many of its jobs one of its workers runs at once, on average; nil without workers.
    public var concurrency: Double?
    /// Jobs pending in the ledger that the broker did not know at the last count.
    public var debt: Int?
    public var load = QueueLoad()
    /// The number of workers that the queue needs.
    public var wanted = 0

    public init(queue: String) { numbers = QueueNumbers(queue: queue) }

    public subscript<Value>(dynamicMember member: WritableKeyPath<QueueNumbers, Value>) -> Value {
      get { numbers[keyPath: member] }
      set { numbers[keyPath: member] = newValue }
    }
  }

  /// Jobs of one kind in one state.
  public struct JobCount: Codable, Sendable, Hashable {
    public var queue: String
    /// `other` for kinds that this version does not know.
    public var kind: String
    public var state: String
    public var jobs: Int
  }

  /// How full Redis is.
  public struct BrokerMemory: Codable, Sendable, Hashable {
    /// In bytes.
    public var used: Int
    /// In bytes; 0 for none.
    public var limit: Int
  }

  /// A gauge of the app's own, as `/metrics` shows it.
  public struct Gauge: Codable, Sendable, Hashable {
    /// The metric's whole name.
    public var name: String
    public var labels: [String: String]
    public var value: Double

    public init(_ name: String, _ value: Double, labels: [String: String] = [:]) {
      self.name = name
      self.labels = labels
      self.value = value
    }
  }

  /// An exceeded limit.
  public struct OpenAlarm: Codable, Sendable, Hashable {
    public var queue: String
    public var what: String
  }
}

extension StackSample.QueueSample: Codable {
  private enum CodingKeys: String, CodingKey {
    // The JSON key stays as it was first published.
    case concurrency = "slots"
    case debt, load, wanted
  }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    numbers = try QueueNumbers(from: decoder)
    concurrency = try values.decodeIfPresent(Double.self, forKey: .concurrency)
    debt = try values.decodeIfPresent(Int.self, forKey: .debt)
    load = try values.decode(QueueLoad.self, forKey: .load)
    wanted = try values.decode(Int.self, forKey: .wanted)
  }

  public func encode(to encoder: any Encoder) throws {
    try numbers.encode(to: encoder)
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encodeIfPresent(concurrency, forKey: .concurrency)
    try values.encodeIfPresent(debt, forKey: .debt)
    try values.encode(load, forKey: .load)
    try values.encode(wanted, forKey: .wanted)
  }
}

extension StackSample {
  /// Stores the sample for all processes, unless a newer one is stored already.
  func save(in database: JobsDatabase) async throws {
    try await database.saveSample(Array(try JSONEncoder().encode(self)), at: at)
  }

  /// The last sample, however old; nil if there is none yet.
  ///
  /// - Throws: `DecodingError` for a sample that another version wrote in a different form.
  public static func latest(in database: JobsDatabase) async throws -> StackSample? {
    try await database.latestSample().map { try JSONDecoder().decode(StackSample.self, from: Data($0)) }
  }

  /// The age up to which a sample counts as current.
  public static let freshness: TimeInterval = 60
}
