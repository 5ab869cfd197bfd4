/// The first bytes of pictures, without the pictures themselves.
enum HeaderBytes {
  static func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
  static func big(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)] }
  static func little(_ value: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  static func png(_ width: UInt32, _ height: UInt32) -> [UInt8] {
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + big(UInt32(13)) + "IHDR".utf8 + big(width) + big(height)
      + [8, 2, 0, 0, 0] + big(UInt32(0))
  }

  static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    [0xFF, marker] + big(UInt16(content.count + 2)) + content
  }

  static func jpeg(_ width: UInt16, _ height: UInt16, before: [UInt8] = [], frame: UInt8 = 0xC0) -> [UInt8] {
    [0xFF, 0xD8] + before + segment(frame, [8] + big(height) + big(width) + [1, 1, 0x11, 0])
  }

  static func gif(_ width: UInt16, _ height: UInt16) -> [UInt8] {
    "GIF89a".utf8 + little(UInt32(width), 2) + little(UInt32(height), 2) + [0, 0, 0]
  }

  static func webp(_ chunk: String, _ content: [UInt8]) -> [UInt8] {
    let padded = content + [UInt8](repeating: 0, count: max(0, 10 - content.count))
    return "RIFF".utf8 + little(UInt32(12 + padded.count), 4) + "WEBP".utf8 + chunk.utf8
      + little(UInt32(padded.count), 4) + padded
  }

  static func extendedWebP(_ width: UInt32, _ height: UInt32) -> [UInt8] {
    webp("VP8X", [0, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
  }

  static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    big(UInt32(8 + content.count)) + type.utf8 + content
  }

  static func heic(
    _ sizes: [(UInt32, UInt32)], major: String = "heic", compatible: [String] = ["mif1", "heic"]
  ) -> [UInt8] {
    let properties = sizes.flatMap { box("ispe", [0, 0, 0, 0] + big($0.0) + big($0.1)) }
    return box("ftyp", major.utf8 + [0, 0, 0, 0] + compatible.flatMap { Array($0.utf8) })
      + box("free", [1, 2, 3])
      + box(
        "meta",
        [0, 0, 0, 0] + box("hdlr", [UInt8](repeating: 0, count: 24))
          + box("iprp", box("ipco", box("colr", [9]) + properties)))
  }
}
