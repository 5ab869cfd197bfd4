/// A WebP file without metadata that reveals its origin (RFC 9649, 2.7).
///
/// libvips 8.14 writes an EXIF chunk even when asked to strip it, and the profile of an sRGB picture is redundant.
struct WebPFile {
  /// The chunks with picture data of one frame.
  private static let keptChunks: Set<String> = ["VP8X", "VP8 ", "VP8L", "ALPH"]
  /// In VP8X: the file has transparency. The other flags announce dropped chunks.
  private static let alphaFlag: UInt8 = 0x10

  /// The file, rewritten.
  let bytes: [UInt8]

  /// - Throws: `PictureRefusal.broken` if the chunks do not fill the container, or contain no picture.
  init(_ file: [UInt8]) throws(PictureRefusal) {
    guard file.count >= 12, file.starts(with: "RIFF".utf8), file[8..<12].elementsEqual("WEBP".utf8),
      Int(file.littleEndian32(at: 4)) == file.count - 8
    else { throw .malformed(.webp) }
    var result = [UInt8](file[..<12])
    result.reserveCapacity(file.count)
    var hasPicture = false
    var offset = 12
    while offset < file.count {
      guard file.count - offset >= 8 else { throw .malformed(.webp) }
      let type = String(decoding: file[offset..<offset + 4], as: UTF8.self)
      let length = Int(file.littleEndian32(at: offset + 4))
      // Chunks are padded to an even length.
      let padded = length + length % 2
      guard padded <= file.count - offset - 8 else { throw .malformed(.webp) }
      let end = offset + 8 + padded
      if Self.keptChunks.contains(type) {
        let start = result.count
        result += file[offset..<end]
        if type == "VP8X" {
          guard length >= 10 else { throw .malformed(.webp) }
          result[start + 8] &= Self.alphaFlag
        }
        hasPicture = hasPicture || type == "VP8 " || type == "VP8L"
      }
      offset = end
    }
    guard hasPicture else { throw .malformed(.webp) }
    let length = UInt32(result.count - 8)
    for index in 0..<4 { result[4 + index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
    bytes = result
  }
}
