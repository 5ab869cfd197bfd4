/// The size in a JPEG file: its frame header, found by stepping over the segments before it (ITU T.81, annex B).
enum JPEGHeader {
  /// Cameras write about ten, a large colour profile takes one each 64 KB.
  private static let segmentLimit = 512

  static func size(_ input: borrowing PictureInput) throws -> (UInt32, UInt32) {
    var offset = 2
    for _ in 0..<segmentLimit {
      let head = try input.bytes(at: offset, count: 9)
      guard head.count >= 4 else { throw PictureRefusal.cutOff(.jpeg) }
      guard head[0] == 0xFF else { throw PictureRefusal.malformed(.jpeg) }
      switch head[1] {
      case 0xFF:  // Fills.
        offset += 1
      case 0x01, 0xD0...0xD7:  // Stands alone.
        offset += 2
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        guard head.count == 9 else { throw PictureRefusal.cutOff(.jpeg) }
        // Precision, height, width. A height of 0, to be defined after the scan (DNL), is refused as no decoder here
        // takes it.
        return (UInt32(head.bigEndian16(at: 7)), UInt32(head.bigEndian16(at: 5)))
      case 0x00, 0xD8...0xDA:  // The picture's data, or its end, before its size.
        throw PictureRefusal.malformed(.jpeg)
      default:
        let length = Int(head.bigEndian16(at: 2))
        guard length >= 2 else { throw PictureRefusal.malformed(.jpeg) }
        offset += 2 + length
      }
    }
    throw PictureRefusal.malformed(.jpeg)
  }
}
