/// Reads the size from a HEIC file: the largest `ispe` property in `meta`/`iprp`/`ipco` (ISO/IEC 23008-12, 6.5.3). The
/// picture itself is at most that large; its tiles and its preview are smaller.
struct HEICHeader {
  /// Brands of HEVC pictures and sequences; the last two leave the codec open.
  private static let brands: Set<String> = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
  /// Brands of AV1 pictures, which also carry `mif1`.
  private static let otherBrands: Set<String> = ["avif", "avis"]
  /// The most boxes visited. A large phone picture has about 60 properties.
  private static let boxLimit = 2048

  private struct Box {
    var type: String
    var content: Range<Int>
  }

  private var visited = 0
  private var largest: (width: UInt32, height: UInt32)?

  static func size(_ input: borrowing PictureInput) throws -> (UInt32, UInt32) {
    var header = HEICHeader()
    return try header.size(input)
  }

  private mutating func size(_ input: borrowing PictureInput) throws -> (UInt32, UInt32) {
    let end = Int.max / 2
    guard let brands = try box(input, at: 0, before: end) else { throw PictureRefusal.cutOff(.heic) }
    let bytes = try input.bytes(at: brands.content.lowerBound, count: min(brands.content.count, 512))
    guard bytes.count == min(brands.content.count, 512) else { throw PictureRefusal.cutOff(.heic) }
    try Self.check(brands: bytes)
    try search(input, brands.content.upperBound..<end, below: ["meta", "iprp", "ipco"])
    guard let largest else { throw PictureRefusal.malformed(.heic) }
    return largest
  }

  private static func check(brands bytes: [UInt8]) throws(PictureRefusal) {
    // The major brand, its version, the compatible brands.
    var found: Set<String> = []
    for start in stride(from: 0, through: bytes.count - 4, by: 4) where start != 4 {
      found.insert(String(decoding: bytes[start..<start + 4], as: UTF8.self))
    }
    guard !found.isDisjoint(with: brands), found.isDisjoint(with: otherBrands) else { throw .unknownFormat }
  }

  /// Visits the boxes of `range`, down the path to the sizes.
  private mutating func search(
    _ input: borrowing PictureInput, _ range: Range<Int>, below path: ArraySlice<String>
  ) throws {
    var offset = range.lowerBound
    while let box = try box(input, at: offset, before: range.upperBound) {
      if let next = path.first {
        if box.type == next {
          // `meta` begins with a version and flags.
          let skipped = next == "meta" ? 4 : 0
          guard box.content.count >= skipped else { throw PictureRefusal.malformed(.heic) }
          let inner = box.content.lowerBound + skipped..<box.content.upperBound
          return try search(input, inner, below: path.dropFirst())
        }
      } else if box.type == "ispe" {
        try note(try input.bytes(at: box.content.lowerBound, count: min(box.content.count, 12)))
      }
      offset = box.content.upperBound
    }
  }

  private mutating func note(_ property: [UInt8]) throws(PictureRefusal) {
    guard property.count == 12 else { throw .malformed(.heic) }
    let (width, height) = (property.bigEndian32(at: 4), property.bigEndian32(at: 8))
    func area(_ width: UInt32, _ height: UInt32) -> UInt64 { UInt64(width) * UInt64(height) }
    guard let largest else { return self.largest = (width, height) }
    if area(width, height) > area(largest.width, largest.height) { self.largest = (width, height) }
  }

  /// The box at `offset`; nil at the end of the file or of the enclosing box.
  private mutating func box(_ input: borrowing PictureInput, at offset: Int, before end: Int) throws -> Box? {
    guard offset < end else { return nil }
    let head = try input.bytes(at: offset, count: 16)
    if head.isEmpty { return nil }
    visited += 1
    guard visited <= Self.boxLimit else { throw PictureRefusal.malformed(.heic) }
    guard head.count >= 8 else { throw PictureRefusal.cutOff(.heic) }
    var length = UInt64(head.bigEndian32(at: 0))
    var headLength = 8
    if length == 1 {
      guard head.count == 16 else { throw PictureRefusal.cutOff(.heic) }
      length = UInt64(head.bigEndian32(at: 8)) << 32 | UInt64(head.bigEndian32(at: 12))
      headLength = 16
    } else if length == 0 {  // Extends to the end.
      length = UInt64(end - offset)
    }
    guard length >= headLength, length <= end - offset else { throw PictureRefusal.malformed(.heic) }
    let type = String(decoding: head[4..<8], as: UTF8.self)
    return Box(type: type, content: offset + headLength..<offset + Int(length))
  }
}
