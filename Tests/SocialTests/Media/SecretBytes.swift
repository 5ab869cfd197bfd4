/// A camera's metadata beside the pixels, each part with a word that a test searches for.
enum SecretBytes {
  static let words = ["SECRET-EXIF", "SECRET-GPS", "SECRET-XMP", "SECRET-ICC", "SECRET-IPTC", "SECRET-COMMENT"]

  /// The segments of a JPEG file: EXIF with an orientation and a place, XMP, a colour profile, IPTC, a comment.
  static func segments(orientation: UInt16) -> [UInt8] {
    let xmp = "http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'>SECRET-XMP</x:xmpmeta>"
    return HeaderBytes.segment(0xE1, "Exif\0\0".utf8 + exif(orientation: orientation))
      + HeaderBytes.segment(0xE1, Array(xmp.utf8))
      + HeaderBytes.segment(0xE2, "ICC_PROFILE\0".utf8 + [1, 1] + displayP3)
      + HeaderBytes.segment(0xED, Array("Photoshop 3.0\u{0}8BIM SECRET-IPTC".utf8))
      + HeaderBytes.segment(0xFE, Array("SECRET-COMMENT".utf8))
  }

  /// Big-endian TIFF: IFD0 with a description, an orientation and a pointer to the GPS IFD.
  static func exif(orientation: UInt16) -> [UInt8] {
    func entry(_ tag: UInt16, _ type: UInt16, _ count: UInt32, _ value: [UInt8]) -> [UInt8] {
      HeaderBytes.big(tag) + HeaderBytes.big(type) + HeaderBytes.big(count) + value
    }
    let head = Array("MM".utf8) + HeaderBytes.big(UInt16(42)) + HeaderBytes.big(UInt32(8))
    let directory = 2 + 3 * 12 + 4
    let description = UInt32(8 + directory)
    let gps = description + 12
    let area = gps + 2 + 12 + 4
    return head + HeaderBytes.big(UInt16(3))
      + entry(0x010E, 2, 12, HeaderBytes.big(description))
      + entry(0x0112, 3, 1, HeaderBytes.big(orientation) + [0, 0])
      + entry(0x8825, 4, 1, HeaderBytes.big(gps)) + HeaderBytes.big(UInt32(0))
      + "SECRET-EXIF\0".utf8
      // GPSAreaInformation.
      + HeaderBytes.big(UInt16(1)) + entry(0x001C, 7, 10, HeaderBytes.big(area)) + HeaderBytes.big(UInt32(0))
      + "SECRET-GPS".utf8
  }

  /// A matrix profile of version 2 with the primaries of Display P3 and a gamma of 2.2 (ICC.1:2001-04).
  static var displayP3: [UInt8] {
    func fixed(_ value: Double) -> [UInt8] { HeaderBytes.big(UInt32(bitPattern: Int32(value * 65_536))) }
    func point(_ x: Double, _ y: Double, _ z: Double) -> [UInt8] {
      "XYZ ".utf8 + [0, 0, 0, 0] + fixed(x) + fixed(y) + fixed(z)
    }
    let curve = "curv".utf8 + [0, 0, 0, 0] + HeaderBytes.big(UInt32(1)) + HeaderBytes.big(UInt16(563)) + [0, 0]
    let name = "SECRET-ICC\0"
    let description =
      "desc".utf8 + [0, 0, 0, 0] + HeaderBytes.big(UInt32(name.utf8.count)) + name.utf8
      + [UInt8](repeating: 0, count: 78 + 3)
    let tags: [(String, [UInt8])] = [
      ("desc", description), ("cprt", "text".utf8 + [0, 0, 0, 0] + "none\0\0\0\0".utf8),
      ("wtpt", point(0.9642, 1, 0.8249)), ("rXYZ", point(0.5151, 0.2412, -0.0011)),
      ("gXYZ", point(0.2920, 0.6922, 0.0419)), ("bXYZ", point(0.1571, 0.0666, 0.7841)), ("rTRC", curve),
      ("gTRC", curve), ("bTRC", curve),
    ]
    var table = HeaderBytes.big(UInt32(tags.count))
    var content: [UInt8] = []
    for (signature, bytes) in tags {
      let offset = UInt32(128 + 4 + 12 * tags.count + content.count)
      table += signature.utf8 + HeaderBytes.big(offset) + HeaderBytes.big(UInt32(bytes.count))
      content += bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }
    var head = [UInt8](repeating: 0, count: 128)
    func put(_ bytes: [UInt8], _ offset: Int) { head.replaceSubrange(offset..<offset + bytes.count, with: bytes) }
    put(HeaderBytes.big(UInt32(128 + table.count + content.count)), 0)
    put([2, 0x20, 0, 0], 8)
    put(Array("mntrRGB XYZ ".utf8), 12)
    put(Array("acsp".utf8), 36)
    put(fixed(0.9642) + fixed(1) + fixed(0.8249), 68)
    return head + table + content
  }
}
