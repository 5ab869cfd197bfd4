/// The placeholder in a Redis record for a payload that stayed in the ledger.
///
///     byte 0       0, which no payload has
///     bytes 1–2    the payload's version, most significant byte first
///     bytes 3–10   how many bytes the payload has
struct PayloadMark {
  /// The version in the record that marks a placeholder.
  static let version = 65535
  static let length = 11

  let version: Int
  let size: Int

  init(version: Int, size: Int) {
    self.version = version
    self.size = size
  }

  /// - Returns: nil for bytes that are not a mark.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.length, bytes[0] == 0 else { return nil }
    version = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt16.self)))
    size = Int(clamping: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 3, as: UInt64.self)))
  }

  func write(to bytes: inout [UInt8]) {
    bytes.append(0)
    bytes.append(bigEndian: UInt16(clamping: version))
    bytes.append(bigEndian: UInt64(clamping: size))
  }
}
