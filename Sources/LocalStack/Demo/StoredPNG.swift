/// An uncompressed PNG, for callers that draw a picture without an encoder.
package struct StoredPNG: Sendable {
  package let bytes: [UInt8]

  /// A picture of 8-bit RGB.
  ///
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
    self.init(width: width, height: height, bitDepth: 8, colorType: 2, lines)
  }

  /// A picture of 16 colours, half a byte a pixel.
  ///
  /// - Parameters:
  ///   - width: in pixels, 1 or more; `height` likewise.
  ///   - palette: the red, green and blue of 16 colours.
  ///   - indices: the colours of the pixels, by rows; `width` × `height` of them, each below 16.
  package init(width: Int, height: Int, palette: [[UInt8]], indices: [UInt8]) {
    var lines: [UInt8] = []
    lines.reserveCapacity(height * (1 + (width + 1) / 2))
    for start in stride(from: 0, to: width * height, by: width) {
      lines.append(0)
      for x in stride(from: start, to: start + width, by: 2) {
        lines.append(indices[x] << 4 | (x + 1 < start + width ? indices[x + 1] : 0))
      }
    }
    self.init(width: width, height: height, bitDepth: 4, colorType: 3, palette: palette.flatMap(\.self), lines)
  }

  private init(
    width: Int, height: Int, bitDepth: UInt8, colorType: UInt8, palette: [UInt8] = [], _ lines: [UInt8]
  ) {
    let size = Self.bigEndian(UInt32(width)) + Self.bigEndian(UInt32(height))
    bytes =
      [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      + Self.chunk("IHDR", size + [bitDepth, colorType, 0, 0, 0])
      + (palette.isEmpty ? [] : Self.chunk("PLTE", palette))
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
    // Adler-32: 5,552 bytes are the most whose sums need no remainder in between.
    var (low, high): (UInt32, UInt32) = (1, 0)
    for start in stride(from: 0, to: data.count, by: 5552) {
      for byte in data[start..<min(start + 5552, data.count)] {
        low += UInt32(byte)
        high += low
      }
      (low, high) = (low % 65_521, high % 65_521)
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
