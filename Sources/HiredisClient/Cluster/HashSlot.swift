/// The slot of a key, one of a cluster's 16,384.
///
/// The CRC-16/XMODEM (polynomial 0x1021, initial value zero) of the key, or of its hash tag, modulo 16384: the Redis
/// Cluster specification, "Key distribution model" and "Hash tags".
enum HashSlot {
  static let count = 16384

  static func of(_ key: String) -> Int {
    var copy = key
    return copy.withUTF8 { of(UnsafeBufferPointer(rebasing: $0[...])) }
  }

  static func of(_ key: UnsafeBufferPointer<UInt8>) -> Int {
    Int(crc16(tag(of: key))) % count
  }

  /// The text between the first `{` and the next `}` if it is not empty; otherwise the whole key.
  private static func tag(of key: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    guard let open = key.firstIndex(of: UInt8(ascii: "{")),
      let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
    else { return key }
    return UnsafeBufferPointer(rebasing: key[(open + 1)..<close])
  }

  static func crc16(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt16 {
    var crc: UInt16 = 0
    for byte in bytes { crc = crc << 8 ^ table[Int(crc >> 8 ^ UInt16(byte))] }
    return crc
  }

  private static let table: [UInt16] = (0..<256).map { index in
    var crc = UInt16(index) << 8
    for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    return crc
  }
}
