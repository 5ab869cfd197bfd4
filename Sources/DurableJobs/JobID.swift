#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Glibc
import Locking

/// Identifies one job, permanently: a version 7 UUID (RFC 9562), so that ids sort by creation time.
///
/// It is also the idempotency key for a handler's external calls.
public struct JobID: Hashable, Sendable, Comparable {
  /// The upper half: 48 bits of Unix milliseconds, the version, 12 bits that count within the millisecond.
  public let high: UInt64
  /// The lower half: the variant and 62 random bits.
  public let low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A new id, greater than every earlier id of this process unless the clock was set back by more than a minute.
  public static func next() -> JobID { generator.withLock { $0.next(now: unixMilliseconds()) } }

  /// `count` new ids in order, with a single clock read.
  static func next(_ count: Int) -> [JobID] {
    generator.withLock { generator in
      let now = unixMilliseconds()
      return (0..<count).map { _ in generator.next(now: now) }
    }
  }

  /// The least id that could have been created at `date`: a bound for "created before".
  public static func min(at date: Date) -> JobID { min(atMilliseconds: date.unixMilliseconds) }

  /// - Parameter milliseconds: since 1970.
  package static func min(atMilliseconds milliseconds: Int64) -> JobID {
    JobID(high: UInt64(clamping: milliseconds) << 16, low: 0)
  }

  /// When the id was created, to the millisecond.
  public var date: Date { Date(unixMilliseconds: milliseconds) }

  /// When the id was created, in milliseconds since 1970.
  package var milliseconds: Int64 { Int64(high >> 16) }

  public static func < (one: JobID, other: JobID) -> Bool {
    one.high == other.high ? one.low < other.low : one.high < other.high
  }

  private static let generator = Locked(Generator())

  private struct Generator {
    private var random = RandomReserve()
    private var last: UInt64 = 0
    /// A minute.
    private static let maxAhead: UInt64 = 60_000 << 12

    mutating func next(now: Int64) -> JobID {
      let now = UInt64(clamping: now) << 12
      // Milliseconds and counter are one 60-bit number that only grows, even when the clock is set back (RFC 9562,
      // section 6.2, method 1). A value far ahead of the clock comes from a clock that was wrong; keeping it would
      // keep ids wrong for as long.
      last = last > now &+ Self.maxAhead ? now : max(last + 1, now)
      let high = (last >> 12) << 16 | 0x7000 | (last & 0xFFF)
      return JobID(high: high, low: 0x8000_0000_0000_0000 | random.next() >> 2)
    }
  }
}

/// Random numbers from the system, fetched 32 at a time: a system call for each would be a third of an id's cost.
private struct RandomReserve: RandomNumberGenerator {
  private var reserve: [UInt64] = []

  mutating func next() -> UInt64 {
    if reserve.isEmpty { refill() }
    return reserve.removeLast()
  }

  private mutating func refill() {
    // One call returns at most 256 bytes.
    reserve = [UInt64](repeating: 0, count: 32)
    let status = reserve.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
    if status == 0 { return }
    var system = SystemRandomNumberGenerator()
    for index in reserve.indices { reserve[index] = system.next() }
  }
}

/// Milliseconds since 1970 by the ledger's clock.
func unixMilliseconds() -> Int64 { JobClock.milliseconds }

extension JobID: CustomStringConvertible, LosslessStringConvertible, Codable {
  /// The canonical form: 8-4-4-4-12 hexadecimal digits.
  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (position, byte) in bytes.enumerated() {
      if position == 4 || position == 6 || position == 8 || position == 10 { text.append(UInt8(ascii: "-")) }
      text.append(hexadecimal[Int(byte >> 4)])
      text.append(hexadecimal[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  public init?(_ text: String) {
    let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
    guard digits.count == 32, text.utf8.count == 32 || text.utf8.count == 36,
      // The standard library's integer parser accepts a sign; an id has none.
      digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { return nil }
    let string = String(decoding: digits, as: UTF8.self)
    guard let high = UInt64(string.prefix(16), radix: 16), let low = UInt64(string.suffix(16), radix: 16) else {
      return nil
    }
    self.init(high: high, low: low)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = JobID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a job id")
    }
    self = id
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// The 16 bytes, most significant first.
  public var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
      for index in 0..<8 {
        buffer[index] = UInt8(truncatingIfNeeded: high >> (56 - 8 * UInt64(index)))
        buffer[index + 8] = UInt8(truncatingIfNeeded: low >> (56 - 8 * UInt64(index)))
      }
      count = 16
    }
  }

  /// - Parameter bytes: 16 bytes, most significant first; nil for another count.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    var high: UInt64 = 0
    var low: UInt64 = 0
    for (index, byte) in bytes.enumerated() {
      if index < 8 { high = high << 8 | UInt64(byte) } else { low = low << 8 | UInt64(byte) }
    }
    self.init(high: high, low: low)
  }
}

private let hexadecimal = Array("0123456789abcdef".utf8)
