/// Bytes to send to the server, in Postgres's binary formats: big-endian.
public struct PostgresBuffer: Sendable {
  /// The bytes appended so far.
  public internal(set) var bytes: [UInt8] = []

  init() {}

  var count: Int { bytes.count }

  /// Appends all bytes of an integer, the most significant first.
  @inline(__always)
  public mutating func append(_ integer: some FixedWidthInteger) {
    withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Appends bytes as they are.
  public mutating func append(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

  /// Appends the bytes that `body` writes, preceded by their length; only -1, NULL's length, if `body` returns false.
  mutating func appendField(_ body: (inout PostgresBuffer) -> Bool) {
    let start = bytes.count
    append(Int32(-1))
    guard body(&self) else { return }
    setLength(at: start)
  }

  /// Writes the number of bytes after `start` into the length field there.
  mutating func setLength(at start: Int) {
    let length = UInt32(bytes.count - start - 4)
    for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index)) }
  }

  /// Appends `count` bytes that `body` fills.
  mutating func appendUninitialized(_ count: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: count))
    bytes.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
  }
}
