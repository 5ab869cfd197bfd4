/// The values of a simple JSON text in document order, each with its end. The text is parsed once and then read in
/// place.
struct PayloadTape {
  enum Kind {
    case object, array, string, integer, yes, no, null
  }

  struct Entry {
    var kind: Kind
    /// The range of the value's bytes, without a string's quotes. Used only for strings and numbers.
    var first: Int
    var end: Int
    /// The entry after this value and its contents.
    var next: Int
  }

  let bytes: [UInt8]
  /// An object's fields are pairs of key and value.
  private(set) var entries: [Entry] = []
  private var position = 0

  /// The maximum nesting depth.
  private static let deepest = 32

  /// Parses JSON (RFC 8259).
  ///
  /// - Returns: nil for invalid JSON, and for fractions, exponents and escapes, which are left to Foundation.
  init?(_ bytes: [UInt8]) {
    self.bytes = bytes
    entries.reserveCapacity(16)
    guard readValue(Self.deepest) else { return nil }
    skipSpace()
    guard position == bytes.count else { return nil }
  }

  private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte, byte == 32 || byte == 10 || byte == 13 || byte == 9 { position += 1 }
  }

  private mutating func take(_ expected: Unicode.Scalar) -> Bool {
    guard byte == UInt8(ascii: expected) else { return false }
    position += 1
    return true
  }

  private mutating func readValue(_ depth: Int) -> Bool {
    guard depth > 0 else { return false }
    skipSpace()
    switch byte {
    case UInt8(ascii: "{"): return readMembers(.object, closedBy: "}", depth)
    case UInt8(ascii: "["): return readMembers(.array, closedBy: "]", depth)
    case UInt8(ascii: "\""): return readString()
    case UInt8(ascii: "t"): return readWord("true", .yes)
    case UInt8(ascii: "f"): return readWord("false", .no)
    case UInt8(ascii: "n"): return readWord("null", .null)
    default: return readInteger()
    }
  }

  private mutating func readMembers(_ kind: Kind, closedBy close: Unicode.Scalar, _ depth: Int) -> Bool {
    let own = entries.count
    entries.append(Entry(kind: kind, first: position, end: position, next: 0))
    position += 1
    skipSpace()
    if !take(close) {
      repeat {
        if kind == .object {
          skipSpace()
          guard readString(isKey: true) else { return false }
          skipSpace()
          guard take(":") else { return false }
        }
        guard readValue(depth - 1) else { return false }
        skipSpace()
      } while take(",")
      guard take(close) else { return false }
    }
    entries[own].next = entries.count
    return true
  }

  private mutating func readString(isKey: Bool = false) -> Bool {
    guard take("\"") else { return false }
    let first = position
    var isASCII = true
    while let byte, byte != UInt8(ascii: "\"") {
      if byte < 0x20 || byte == UInt8(ascii: "\\") { return false }
      if byte >= 0x80 { isASCII = false }
      position += 1
    }
    let end = position
    guard take("\"") else { return false }
    // Keys are compared byte by byte here, whereas Foundation treats canonically equivalent strings as equal.
    if !isASCII, isKey { return false }
    if !isASCII, String(validating: bytes[first..<end], as: UTF8.self) == nil { return false }
    entries.append(Entry(kind: .string, first: first, end: end, next: entries.count + 1))
    return true
  }

  private mutating func readWord(_ word: StaticString, _ kind: Kind) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count, word.withUTF8Buffer({ $0.elementsEqual(bytes[position..<end]) }) else { return false }
    entries.append(Entry(kind: kind, first: position, end: end, next: entries.count + 1))
    position = end
    return true
  }

  private mutating func readInteger() -> Bool {
    let first = position
    _ = take("-")
    let digits = position
    while let byte, 48...57 ~= byte { position += 1 }
    // JSON allows no leading zero.
    guard position > digits, position == digits + 1 || bytes[digits] != 48 else { return false }
    if let byte, byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") { return false }
    entries.append(Entry(kind: .integer, first: first, end: position, next: entries.count + 1))
    return true
  }
}
