/// The name by which every process knows a job's payload and handler, such as `posts.fan-out`.
public struct JobKind: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByStringLiteral, Comparable,
  CustomStringConvertible
{
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public init(stringLiteral value: String) { rawValue = value }
  public var description: String { rawValue }
  public static func < (one: JobKind, other: JobKind) -> Bool { one.rawValue < other.rawValue }
}

/// A named queue. Its jobs start by priority, then by arrival; queues do not wait for one another.
public struct QueueName: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByStringLiteral, Comparable,
  CustomStringConvertible
{
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public init(stringLiteral value: String) { rawValue = value }
  public var description: String { rawValue }
  public static func < (one: QueueName, other: QueueName) -> Bool { one.rawValue < other.rawValue }

  /// The queue of kinds that name none.
  public static let `default`: QueueName = "default"

  /// Whether the name can be part of a key: 1–64 letters, digits, `-`, `_`, `.`.
  public var isValid: Bool {
    (1...64).contains(rawValue.utf8.count)
      && rawValue.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }
}

/// The order in which a queue's waiting jobs start.
public enum JobPriority: UInt8, Sendable, Codable, CaseIterable, Comparable {
  case high = 0
  case normal = 1
  case low = 2
  public static func < (one: JobPriority, other: JobPriority) -> Bool { one.rawValue < other.rawValue }
}
