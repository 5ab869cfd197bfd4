/// Identifies a trace: a request and everything that follows from it, in any process. 16 bytes, not all zero, as in W3C
/// Trace Context (https://www.w3.org/TR/trace-context/#trace-id).
public struct TraceID: Hashable, Sendable {
  /// The first eight bytes, most significant first.
  public let high: UInt64
  /// The last eight bytes.
  public let low: UInt64

  /// - Returns: nil for all zeroes, which are invalid.
  public init?(high: UInt64, low: UInt64) {
    if high == 0, low == 0 { return nil }
    self.high = high
    self.low = low
  }

  private init(_ high: UInt64, nonzero low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A new random id.
  public static func random() -> TraceID {
    TraceID(.random(in: 0...UInt64.max), nonzero: .random(in: 1...UInt64.max))
  }
}

extension TraceID: CustomStringConvertible, LosslessStringConvertible {
  /// 32 lowercase hexadecimal digits.
  public var description: String { TraceHex.text(high) + TraceHex.text(low) }

  /// - Parameter text: 32 lowercase hexadecimal digits, not all zero.
  public init?(_ text: String) {
    let digits = Array(text.utf8)
    guard digits.count == 32, let high = TraceHex.number(digits[..<16]), let low = TraceHex.number(digits[16...]) else {
      return nil
    }
    self.init(high: high, low: low)
  }
}

/// Hexadecimal digits as in trace ids: fixed length, lowercase.
enum TraceHex {
  private static let digits = Array("0123456789abcdef".utf8)

  /// 16 digits.
  static func text(_ number: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { buffer in
      for index in 0..<16 { buffer[index] = digits[Int(number >> (60 - 4 * UInt64(index)) & 15)] }
      return 16
    }
  }

  /// - Returns: nil unless there are 1 to 16 digits.
  static func number(_ text: some Collection<UInt8>) -> UInt64? {
    guard (1...16).contains(text.count) else { return nil }
    var number: UInt64 = 0
    for digit in text {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }
}
