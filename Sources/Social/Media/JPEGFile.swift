/// A JPEG file without metadata that reveals its origin (ITU T.81, annex B): no EXIF, XMP, IPTC, color profile or
/// comment, and nothing after its end. Only JFIF's and Adobe's segments remain, which state how its colors are coded.
struct JPEGFile {
  /// The file, rewritten.
  let bytes: [UInt8]

  /// - Throws: `PictureRefusal.broken` if the segments do not lead to the end of the picture.
  init(_ file: [UInt8]) throws(PictureRefusal) {
    guard file.starts(with: [0xFF, 0xD8]) else { throw .malformed(.jpeg) }
    var result: [UInt8] = [0xFF, 0xD8]
    result.reserveCapacity(file.count)
    var offset = 2
    while true {
      guard offset + 2 <= file.count, file[offset] == 0xFF else { throw .malformed(.jpeg) }
      let marker = file[offset + 1]
      if marker == 0xFF {  // A fill byte.
        offset += 1
        continue
      }
      if marker == 0xD9 { break }
      guard offset + 4 <= file.count else { throw .malformed(.jpeg) }
      let length = Int(file.bigEndian16(at: offset + 2))
      guard length >= 2, length <= file.count - offset - 2 else { throw .malformed(.jpeg) }
      var end = offset + 2 + length
      if marker == 0xDA { end = try Self.endOfScan(file, end) }
      if !Self.isDropped(marker, file[offset + 4..<offset + 2 + length]) { result += file[offset..<end] }
      offset = end
    }
    bytes = result + [0xFF, 0xD9]
  }

  private static func isDropped(_ marker: UInt8, _ content: ArraySlice<UInt8>) -> Bool {
    switch marker {
    case 0xE0: !content.starts(with: "JFIF\0".utf8)
    case 0xEE: !content.starts(with: "Adobe".utf8)
    case 0xE1...0xEF, 0xFE: true
    default: false
    }
  }

  /// The offset of the first marker after a scan's data. In the data, 0xFF is followed by 0x00, or is a restart marker.
  private static func endOfScan(_ file: [UInt8], _ start: Int) throws(PictureRefusal) -> Int {
    var offset = start
    while offset + 1 < file.count {
      if file[offset] == 0xFF, file[offset + 1] != 0, !(0xD0...0xD7).contains(file[offset + 1]) { return offset }
      offset += 1
    }
    throw .malformed(.jpeg)
  }
}
