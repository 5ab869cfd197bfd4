/// An uncompressed PNG of 8-bit RGB, for callers that draw a picture without an encoder.
package struct StoredPNG: Sendable {
  package let bytes: [UInt8]

  /// - Parameters:
  ///   - width: in pixels, 1 or more; `height` likewise.
  ///   - color: the red, green and blue of a pixel, by its column and row.
  package init(width: Int, height: Int, color: (Int, Int) -> [UInt8]) {
    var lines: [UInt8] = []
    lines.reserveCapacity(height * (1 + 3 * width))
    for y in 0..<height {
      // No filter.
      lines.append(0)
      for x in 0..<width { lines += color(x, y) }
    }
    bytes =
      [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      + Self.chunk("IHDR", Self.bigEndian(UInt32(width)) + Self.bigEndian(UInt32(height)) + [8, 2, 0, 0, 0])
      + Self.chunk("IDAT", Self.stored(lines)) + Self.chunk("IEND", [])
  }

  /// A zlib stream of stored blocks (RFC 1950, RFC 1951).
  private static func stored(_ data: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    let blockSize = 65_535
    for start in stride(from: 0, to: data.count, by: blockSize) {
      let block = data[start..<min(start + blockSize, data.count)]
      let count = UInt16(block.count)
      stream.append(block.endIndex == data.count ? 1 : 0)
      stream += [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
      stream += block
    }
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in data {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return stream + bigEndian(high << 16 | low)
  }

  private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    let named = Array(name.utf8) + data
    var sum = UInt32.max
    for byte in named { sum = sums[Int((sum ^ UInt32(byte)) & 255)] ^ (sum >> 8) }
    return bigEndian(UInt32(data.count)) + named + bigEndian(~sum)
  }

  /// CRC-32's table (the PNG specification, annex D).
  private static let sums: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}
