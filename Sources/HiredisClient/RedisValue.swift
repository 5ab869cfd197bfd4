/// A reply copied out of the client library, which may be kept.
public enum RedisValue: Sendable, Hashable {
  case null
  case integer(Int64)
  /// A bulk string or a status, such as `OK`.
  case string([UInt8])
  case array([RedisValue])
  /// An error inside an array, as from scripts and `EXEC`. An error that is the whole reply is thrown instead.
  case error(String)

  /// The text of a string; malformed UTF-8 is repaired.
  public var text: String? {
    guard case .string(let bytes) = self else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The number of an integer, or of a string with a decimal number.
  public var int: Int? {
    switch self {
    case .integer(let number): Int(exactly: number)
    case .string(let bytes): Int(String(decoding: bytes, as: UTF8.self))
    default: nil
    }
  }

  public var bytes: [UInt8]? {
    guard case .string(let bytes) = self else { return nil }
    return bytes
  }

  public var elements: [RedisValue]? {
    guard case .array(let elements) = self else { return nil }
    return elements
  }

  public var isNull: Bool { self == .null }
}
