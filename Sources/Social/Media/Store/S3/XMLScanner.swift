/// Scans the XML of S3's responses: elements and text with references, without a document type.
///
/// Source: Extensible Markup Language (XML) 1.0, fifth edition. Attributes are skipped, since
/// those in S3's responses carry no data.
struct XMLScanner {
  /// The input is not such a document.
  struct Malformed: Error {}

  private static let deepest = 16

  private let bytes: [UInt8]
  private var position = 0
  private var path: [String] = []
  private var texts: [String] = []
  private var hasRoot = false

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Calls `body` at the end of each element, with the names from the root to it, joined by slashes, and the element's
  /// own text.
  static func scan(_ bytes: [UInt8], _ body: (_ path: String, _ text: String) -> Void) throws(Malformed) {
    var scanner = XMLScanner(bytes)
    // Some servers write a byte order mark.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { scanner.position = 3 }
    while scanner.position < bytes.count { try scanner.step(body) }
    guard scanner.hasRoot, scanner.path.isEmpty else { throw Malformed() }
  }

  private mutating func step(_ body: (String, String) -> Void) throws(Malformed) {
    if bytes[position] != UInt8(ascii: "<") { return try readText() }
    if take("<?") { return try skip(past: "?>") }
    if take("<!--") { return try skip(past: "-->") }
    if take("</") {
      guard try readName() == path.last else { throw Malformed() }
      skipSpace()
      guard take(">") else { throw Malformed() }
      return end(body)
    }
    guard take("<") else { throw Malformed() }
    let name = try readName()
    guard path.count < Self.deepest, !hasRoot || !path.isEmpty else { throw Malformed() }
    hasRoot = true
    path.append(name)
    texts.append("")
    if try skipAttributes() { end(body) }
  }

  private mutating func end(_ body: (String, String) -> Void) {
    body(path.joined(separator: "/"), texts.removeLast())
    path.removeLast()
  }

  private mutating func readText() throws(Malformed) {
    let piece = bytes[position...].prefix { $0 != UInt8(ascii: "<") }
    position += piece.count
    guard let raw = String(validating: piece, as: UTF8.self) else { throw Malformed() }
    guard !texts.isEmpty else {
      // Only white space may appear outside the root.
      guard raw.allSatisfy(\.isWhitespace) else { throw Malformed() }
      return
    }
    texts[texts.count - 1] += try Self.resolved(raw)
  }

  private static func resolved(_ text: String) throws(Malformed) -> String {
    guard text.contains("&") else { return text }
    let pieces = text.split(separator: "&", omittingEmptySubsequences: false)
    var result = String(pieces[0])
    for piece in pieces.dropFirst() {
      guard let end = piece.firstIndex(of: ";") else { throw Malformed() }
      result.append(try character(piece[..<end]))
      result += piece[piece.index(after: end)...]
    }
    return result
  }

  private static func character(_ reference: Substring) throws(Malformed) -> Character {
    let named: [Substring: Character] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
    if let character = named[reference] { return character }
    let number =
      reference.hasPrefix("#x")
      ? UInt32(reference.dropFirst(2), radix: 16)
      : reference.hasPrefix("#") ? UInt32(reference.dropFirst()) : nil
    guard let scalar = number.flatMap(Unicode.Scalar.init) else { throw Malformed() }
    return Character(scalar)
  }

  /// - Returns: whether the tag is self-closing.
  private mutating func skipAttributes() throws(Malformed) -> Bool {
    while true {
      skipSpace()
      if take("/>") { return true }
      if take(">") { return false }
      _ = try readName()
      skipSpace()
      guard take("=") else { throw Malformed() }
      skipSpace()
      guard position < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[position]) else {
        throw Malformed()
      }
      let quote = String(Unicode.Scalar(bytes[position]))
      position += 1
      try skip(past: quote)
    }
  }

  private mutating func readName() throws(Malformed) -> String {
    let name = bytes[position...].prefix { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
      case UInt8(ascii: "_"), UInt8(ascii: ":"): true
      default: false
      }
    }
    guard !name.isEmpty else { throw Malformed() }
    position += name.count
    return String(decoding: name, as: UTF8.self)
  }

  private mutating func take(_ text: StaticString) -> Bool {
    let isThere = text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    if isThere { position += text.utf8CodeUnitCount }
    return isThere
  }

  private mutating func skip(past text: String) throws(Malformed) {
    while position < bytes.count {
      if bytes[position...].starts(with: text.utf8) {
        position += text.utf8.count
        return
      }
      position += 1
    }
    throw Malformed()
  }

  private mutating func skipSpace() {
    while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
  }
}
