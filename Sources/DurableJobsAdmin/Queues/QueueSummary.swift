import Foundation

/// A one-line summary of a queue.
///
/// It has the members of its ``numbers``, and its JSON has their keys.
@dynamicMemberLookup
public struct QueueSummary: Codable, Sendable, Hashable {
  public let numbers: QueueNumbers
  /// Unfinished durable jobs, as the broker knows them: ready, delayed and claimed ones.
  public let pending: Int
  /// Durable jobs that no worker knows how to run; 10,000 means 10,000 or more.
  public let parked: Int

  /// The limit at which the count of parked jobs stops.
  public static let maxCounted = 10_000

  init(_ numbers: QueueNumbers, pending: Int, parked: Int) {
    self.numbers = numbers
    self.pending = pending
    self.parked = parked
  }

  public subscript<Value>(dynamicMember member: KeyPath<QueueNumbers, Value>) -> Value { numbers[keyPath: member] }

  private enum CodingKeys: String, CodingKey {
    // The key that scripts rely on.
    case pending = "owed"
    case parked
  }

  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    numbers = try QueueNumbers(from: decoder)
    pending = try values.decode(Int.self, forKey: .pending)
    parked = try values.decode(Int.self, forKey: .parked)
  }

  public func encode(to encoder: any Encoder) throws {
    try numbers.encode(to: encoder)
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(pending, forKey: .pending)
    try values.encode(parked, forKey: .parked)
  }
}

/// A queue in full detail.
public struct QueueDetail: Codable, Sendable, Hashable {
  /// A worker that serves it.
  public struct Worker: Codable, Sendable, Hashable {
    public let name: String
    /// How many of its jobs the worker runs at once.
    public let concurrency: Int
    /// How many of its jobs the worker is running; of many, the first few hundred are counted.
    public let running: Int

    // The JSON key stays as it was first published.
    private enum CodingKeys: String, CodingKey {
      case name
      case concurrency = "slots"
      case running
    }
  }

  public let summary: QueueSummary
  /// Waiting in the broker to be claimed, by priority.
  public let high: Int
  public let normal: Int
  public let low: Int
  public let pausedAt: Date?
  public let pausedBy: String?
  /// By name.
  public let workers: [Worker]
  /// The last hour's statistics, by kind.
  public let kinds: [KindStatistics]
}
