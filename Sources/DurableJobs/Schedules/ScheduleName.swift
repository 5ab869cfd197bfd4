/// Identifies a schedule, permanently: its fired ticks and its pause are stored under this name, such as
/// `rankings.daily`.
public struct ScheduleName: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByStringLiteral, Comparable,
  CustomStringConvertible
{
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public init(stringLiteral value: String) { rawValue = value }
  public var description: String { rawValue }
  public static func < (one: ScheduleName, other: ScheduleName) -> Bool { one.rawValue < other.rawValue }

  /// 1–64 letters, digits, `-`, `_`, `.`, as for a queue name.
  public var isValid: Bool { QueueName(rawValue: rawValue).isValid }
}
