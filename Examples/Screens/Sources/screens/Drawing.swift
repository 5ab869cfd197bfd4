import Foundation

/// Pictures to share, in the form of PNG and without compression.
enum Drawing {
  /// Stripes and noise: every seed is another picture, of about 4 bytes a pixel.
  static func png(width: Int, height: Int, seed: UInt64) -> Data {
    var generator = SystemRandomNumberGenerator()
    let tint = UInt8(truncatingIfNeeded: seed &* 73)
    var rows: [UInt8] = []
    rows.reserveCapacity(height * (width * 3 + 1))
    for row in 0..<height {
      let noise = UInt8.random(in: 0...31, using: &generator)
      rows.append(0)
      for column in 0..<width {
        rows += [UInt8(truncatingIfNeeded: column / 4), UInt8(truncatingIfNeeded: row / 4) ^ noise, tint]
      }
    }
    let header = big(UInt32(width)) + big(UInt32(height)) + [8, 2, 0, 0, 0]
    return Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + chunk("IHDR", header)
      + chunk("IDAT", stored(rows)) + chunk("IEND", [])
  }

  private static func big(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> Data {
    let body = Array(type.utf8) + content
    return Data(big(UInt32(content.count)) + body + big(crc(body)))
  }

  /// Zlib with stored blocks (RFC 1950, RFC 1951).
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: bytes.count, by: 65_535) {
      let end = min(start + 65_535, bytes.count)
      let count = UInt16(end - start)
      result.append(end == bytes.count ? 1 : 0)
      result += [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
      result += bytes[start..<end]
    }
    var (low, high) = (UInt32(1), UInt32(0))
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return result + big(high << 16 | low)
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { table[Int(($0 ^ UInt32($1)) & 255)] ^ ($0 >> 8) }
  }
}
