/// Reads the size from a PNG file: its IHDR chunk, which comes first (PNG specification, 11.2.2).
enum PNGHeader {
  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// - Parameter start: the file's first 32 bytes, or the whole file if it is shorter.
  static func size(_ start: [UInt8]) throws(PictureRefusal) -> (UInt32, UInt32) {
    guard start.count >= 29 else { throw .cutOff(.png) }
    guard start.bigEndian32(at: 8) == 13, start[12..<16].elementsEqual("IHDR".utf8) else { throw .malformed(.png) }
    return (start.bigEndian32(at: 16), start.bigEndian32(at: 20))
  }
}
