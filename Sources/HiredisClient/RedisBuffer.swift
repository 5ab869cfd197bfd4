/// A command under construction, in the wire format: `*N`, then N times `$length` and that many bytes, each line ended
/// by CR LF (the Redis serialization protocol, RESP2).
///
/// The number of parts comes first but is known last. So the buffer reserves room in front of the first part and writes
/// the number right-aligned into it: the finished command is contiguous without a copy.
public struct RedisBuffer: Sendable {
  /// Room for `*`, ten digits and CR LF, with some to spare.
  static let headroom = 16

  private(set) var bytes: [UInt8]
  private(set) var start: Int
  private(set) var parts = 0

  init(capacity: Int) {
    bytes = []
    bytes.reserveCapacity(Self.headroom + capacity)
    for _ in 0..<Self.headroom { bytes.append(0) }
    start = Self.headroom
  }

  mutating func reserve(_ more: Int) {
    bytes.reserveCapacity(bytes.count + more)
  }

  /// Appends one bulk string.
  public mutating func appendBulk(_ value: UnsafeRawBufferPointer) {
    appendLength(value.count)
    bytes.append(contentsOf: value)
    appendLineEnd()
    parts += 1
  }

  /// Appends one bulk string that is written in place, without a copy.
  ///
  /// - Parameters:
  ///   - length: the number of bytes, needed in advance because it precedes them.
  ///   - write: appends exactly `length` bytes.
  public mutating func appendBulk(length: Int, _ write: (inout [UInt8]) -> Void) {
    appendLength(length)
    let end = bytes.count + length
    write(&bytes)
    precondition(bytes.count == end, "a bulk string of \(length) bytes was announced and another written")
    appendLineEnd()
    parts += 1
  }

  /// Appends one bulk string with a decimal number.
  public mutating func appendBulk(_ value: Int64) {
    if 0 <= value, value < 10 {
      let digit = UInt64(48 + value)
      appendPacked(0x0A0D_000A_0D31_24 | digit << 32, count: 7)
    } else {
      withUnsafeTemporaryAllocation(byteCount: 24, alignment: 1) { room in
        var first = room.count
        var rest = value.magnitude
        repeat {
          first -= 1
          room[first] = UInt8(48 + rest % 10)
          rest /= 10
        } while rest > 0
        if value < 0 {
          first -= 1
          room[first] = UInt8(ascii: "-")
        }
        let digits = UnsafeRawBufferPointer(rebasing: room[first...])
        appendLength(digits.count)
        bytes.append(contentsOf: digits)
        appendLineEnd()
      }
    }
    parts += 1
  }

  /// Writes the number of parts before them. Called when the command is complete, and again after each append.
  mutating func writeHeader() {
    var position = Self.headroom
    position -= 1
    bytes[position] = 10
    position -= 1
    bytes[position] = 13
    var rest = parts
    repeat {
      position -= 1
      bytes[position] = UInt8(48 + rest % 10)
      rest /= 10
    } while rest > 0
    position -= 1
    bytes[position] = UInt8(ascii: "*")
    start = position
  }

  /// The command's name if it is shorter than 100 bytes, as all names are.
  var firstPart: ArraySlice<UInt8>? {
    var position = Self.headroom + 1
    var length = 0
    while position < bytes.count, bytes[position] != 13 {
      length = 10 * length + Int(bytes[position]) - 48
      position += 1
      if length >= 100 { return nil }
    }
    let first = position + 2
    return first + length <= bytes.count ? bytes[first..<(first + length)] : nil
  }

  /// Appends `$length` and a line end. Lengths below 100,000 are assembled in a register and appended at once.
  private mutating func appendLength(_ length: Int) {
    guard length < 100_000 else {
      bytes.append(UInt8(ascii: "$"))
      bytes.append(contentsOf: String(length).utf8)
      appendLineEnd()
      return
    }
    var packed: UInt64 = 0x0A0D
    var count = 2
    var rest = length
    repeat {
      packed = packed << 8 | UInt64(48 + rest % 10)
      rest /= 10
      count += 1
    } while rest > 0
    appendPacked(packed << 8 | 0x24, count: count + 1)
  }

  private mutating func appendLineEnd() {
    appendPacked(0x0A0D, count: 2)
  }

  /// Appends the low `count` bytes of `packed`, lowest first.
  private mutating func appendPacked(_ packed: UInt64, count: Int) {
    withUnsafeBytes(of: packed.littleEndian) {
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<count]))
    }
  }
}
