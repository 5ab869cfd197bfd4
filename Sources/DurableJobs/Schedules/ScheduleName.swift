/// Names a schedule, for ever: what it has fired and whether it is paused is kept under this name, such as
/// `rankings.daily`.
public struct ScheduleName: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByStringLiteral, Comparable,
  CustomStringConvertible
{
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public init(stringLiteral value: String) { rawValue = value }
  public var description: String { rawValue }
  public static func < (one: ScheduleName, other: ScheduleName) -> Bool { one.rawValue < other.rawValue }

  /// 1–64 letters, digits, `-`, `_`, `.`, as a queue's name is.
  public var isValid: Bool { QueueName(rawValue: rawValue).isValid }
}
