/// Reads the size from a GIF file: its logical screen (GIF89a specification, 18). A frame may be larger; the decoder's
/// memory limit covers that.
enum GIFHeader {
  /// - Parameter start: the file's first 32 bytes, or the whole file if it is shorter.
  static func size(_ start: [UInt8]) throws(PictureRefusal) -> (UInt32, UInt32) {
    guard start.count >= 13 else { throw .cutOff(.gif) }
    return (UInt32(start.littleEndian16(at: 6)), UInt32(start.littleEndian16(at: 8)))
  }
}
