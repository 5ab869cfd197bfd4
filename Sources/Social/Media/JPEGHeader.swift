/// Reads the size and color information of a JPEG file: its frame header, found by skipping the segments before it (ITU
/// T.81, annex B), and whether it has a profile segment (ICC.1, B.4).
enum JPEGHeader {
  /// Cameras write about ten segments; a large color profile takes one per 64 KB.
  private static let segmentLimit = 512

  /// - Parameter isPlainRGB: set to true for a file with three components and no profile.
  static func size(_ input: borrowing PictureInput, isPlainRGB: inout Bool) throws -> (UInt32, UInt32) {
    var size: (UInt32, UInt32)?
    var hasThreeComponents = false
    var hasProfile = false
    var offset = 2
    for _ in 0..<segmentLimit {
      let head = try input.bytes(at: offset, count: 10)
      // The decoder judges everything after the size.
      if let size, head.count < 4 || head[0] != 0xFF { return size }
      guard head.count >= 4 else { throw PictureRefusal.cutOff(.jpeg) }
      guard head[0] == 0xFF else { throw PictureRefusal.malformed(.jpeg) }
      switch head[1] {
      case 0xFF:  // A fill byte.
        offset += 1
        continue
      case 0x01, 0xD0...0xD7:  // Has no length.
        offset += 2
        continue
      case 0x00, 0xD8...0xDA:  // The picture's data, or its end: the size must come before.
        guard let size else { throw PictureRefusal.malformed(.jpeg) }
        isPlainRGB = head[1] == 0xDA && hasThreeComponents && !hasProfile
        return size
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        if size != nil { break }
        guard head.count == 10 else { throw PictureRefusal.cutOff(.jpeg) }
        // Precision, height, width, components. A height of 0, defined after the scan (DNL), is refused, since no
        // decoder here supports it.
        size = (UInt32(head.bigEndian16(at: 7)), UInt32(head.bigEndian16(at: 5)))
        hasThreeComponents = head[9] == 3
      case 0xE2: hasProfile = true
      default: break
      }
      let length = Int(head.bigEndian16(at: 2))
      guard length >= 2 else {
        if let size { return size }
        throw PictureRefusal.malformed(.jpeg)
      }
      offset += 2 + length
    }
    if let size { return size }
    throw PictureRefusal.malformed(.jpeg)
  }
}
