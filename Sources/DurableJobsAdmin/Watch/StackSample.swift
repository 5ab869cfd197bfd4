import DurableJobsPostgres
import Foundation

/// What was seen of the whole stack at one moment: what `/metrics` of every process shows of it, and the autoscaling
/// route.
///
/// The process that leads in watching takes one every few seconds and leaves it in Postgres, in one row, so that a
/// scrape asks nobody anything. Its JSON may lack what an older version does not know, or have what a newer one does.
public struct StackSample: Codable, Sendable, Hashable {
  public var at: Date
  public var queues: [QueueSample] = []
  /// The jobs in the ledger and the dead letters; counting takes a while, so these may be older than the rest.
  public var jobs: [JobCount]?
  /// Nil where the broker cannot be reached.
  public var broker: BrokerMemory?
  /// What the app adds.
  public var gauges: [Gauge]?
  public var alarms: [OpenAlarm]?
  /// For how many seconds the oldest snapshot in Postgres has been held; 0 without any.
  public var oldestSnapshot: Double?

  public init(at: Date) { self.at = at }

  /// One queue. It has the members of its ``numbers``, and its JSON has their keys.
  @dynamicMemberLookup
  public struct QueueSample: Sendable, Hashable {
    public var numbers: QueueNumbers
    /// How many of its jobs one of its workers runs at once, on average; nil where none is there.
    public var concurrency: Double?
    /// Jobs that the ledger owes and the broker does not know, when they were last counted.
    public var debt: Int?
    public var load = QueueLoad()
    /// How many workers it needs.
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
    /// `other` for the kinds that this version does not know.
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

  /// A figure of the app's own, as `/metrics` shows it.
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

  /// A limit that is passed.
  public struct OpenAlarm: Codable, Sendable, Hashable {
    public var queue: String
    public var what: String
  }
}

extension StackSample.QueueSample: Codable {
  private enum CodingKeys: String, CodingKey {
    // JSON keeps the name that it always had.
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
  /// Leaves it for all; an older one than what is there is not kept.
  func save(in database: JobsDatabase) async throws {
    try await database.saveSample(Array(try JSONEncoder().encode(self)), at: at)
  }

  /// The last one, however old; nil before there is one.
  ///
  /// - Throws: `DecodingError` for one of a version that wrote it differently.
  public static func latest(in database: JobsDatabase) async throws -> StackSample? {
    try await database.latestSample().map { try JSONDecoder().decode(StackSample.self, from: Data($0)) }
  }

  /// How old one may be that still says what is.
  public static let freshness: TimeInterval = 60
}
