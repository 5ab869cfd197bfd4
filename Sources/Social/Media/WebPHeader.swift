/// Reads the size from a WebP file: its first chunk (RFC 9649, 2.4 to 2.7; for `VP8 ` RFC 6386, 9.1).
enum WebPHeader {
  /// - Parameter start: the file's first 32 bytes, or the whole file if it is shorter.
  static func size(_ start: [UInt8]) throws(PictureRefusal) -> (UInt32, UInt32) {
    guard start.count >= 30 else { throw .cutOff(.webp) }
    switch String(decoding: start[12..<16], as: UTF8.self) {
    case "VP8X": return (start.littleEndian24(at: 24) + 1, start.littleEndian24(at: 27) + 1)
    case "VP8L":
      guard start[20] == 0x2F else { throw .malformed(.webp) }
      let sides = start.littleEndian32(at: 21)
      return (sides & 0x3FFF + 1, sides >> 14 & 0x3FFF + 1)
    case "VP8 ":
      // A key frame. Its sides have 14 bits; the two bits above are a scale.
      guard start[20] & 1 == 0, start[23..<26].elementsEqual([0x9D, 0x01, 0x2A]) else { throw .malformed(.webp) }
      return (UInt32(start.littleEndian16(at: 26) & 0x3FFF), UInt32(start.littleEndian16(at: 28) & 0x3FFF))
    default: throw .malformed(.webp)
    }
  }
}
