import Cryptography
import Foundation

/// A JSON value (RFC 8259), parsed from the bytes of one record.
enum JSONDatum: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONDatum])
  /// Of two members with one name, the last one counts.
  case object([String: JSONDatum])

  /// Why bytes are no JSON value.
  struct Malformed: Error, CustomStringConvertible {
    let description: String
  }

  /// The deepest nesting: a record of these apps has three levels.
  static let maxDepth = 64

  /// - Parameter depth: how deep the value will be in another.
  init(_ bytes: [UInt8], depth: Int = 0) throws(Malformed) {
    var parser = JSONParser(bytes)
    self = try parser.document(depth: depth)
  }

  /// The value as JSON, in one line.
  var json: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  private func append(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += Array("null".utf8)
    case .bool(let flag): bytes += Array((flag ? "true" : "false").utf8)
    case .number(let number): bytes += Array((Int(exactly: number).map { String($0) } ?? String(number)).utf8)
    case .string(let text): Self.append(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (place, element) in elements.enumerated() {
        if place > 0 { bytes.append(UInt8(ascii: ",")) }
        element.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (place, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
        if place > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.append(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0..<0x20: bytes += Array("\\u00".utf8) + Array(CollectionOfOne(byte).hexadecimal.utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// The member with this name; nil for what is no object, for a missing member and for null.
  subscript(name: String) -> JSONDatum? {
    guard case .object(let members) = self, let member = members[name], member != .null else { return nil }
    return member
  }

  /// The member at a path such as `author.name`.
  func member(at path: String) -> JSONDatum? {
    if let member = self[path] { return member }
    var value = self
    for name in path.split(separator: ".") {
      guard let next = value[String(name)] else { return nil }
      value = next
    }
    return value
  }

  /// The string, or a number as its digits.
  var text: String? {
    switch self {
    case .string(let text): text
    case .number(let number): Int(exactly: number).map { String($0) } ?? String(number)
    default: nil
    }
  }

  /// The number, or a string of digits.
  var integer: Int? {
    switch self {
    case .number(let number): Int(exactly: number)
    case .string(let text): Int(text)
    default: nil
    }
  }

  var flag: Bool? {
    switch self {
    case .bool(let flag): flag
    case .number(let number): number == 1 ? true : number == 0 ? false : nil
    case .string(let text): text == "true" ? true : text == "false" ? false : nil
    default: nil
    }
  }

  /// A time: ISO 8601, seconds or milliseconds since 1970, or one of the forms of Firestore's timestamps in exports:
  /// `{"_seconds": …, "_nanoseconds": …}`, also without the underscores or under `value`.
  var date: Date? {
    switch self {
    case .number(let number): return Self.date(number)
    case .string(let text):
      if let number = Double(text) { return Self.date(number) }
      return Self.date(iso8601: text)
    case .object:
      if let value = self["value"] { return value.date }
      guard case .number(let seconds)? = self["_seconds"] ?? self["seconds"] else { return nil }
      var part = 0.0
      if case .number(let nanoseconds)? = self["_nanoseconds"] ?? self["nanoseconds"] { part = nanoseconds / 1e9 }
      return Self.checked(seconds + part)
    default: return nil
    }
  }

  private static func date(_ number: Double) -> Date? {
    // The year 5138 in seconds, and 1973 in milliseconds.
    checked(abs(number) < 100_000_000_000 ? number : number / 1000)
  }

  private static func date(iso8601 text: String) -> Date? {
    guard text.utf8.count <= 40 else { return nil }
    if let date = try? Date(text, strategy: .iso8601) { return checked(date.timeIntervalSince1970) }
    let precise = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let date = try? Date(text, strategy: precise) else { return nil }
    return checked(date.timeIntervalSince1970)
  }

  /// Refuses times before 1970 and after 2100, which Postgres or a feed could not order.
  private static func checked(_ seconds: Double) -> Date? {
    guard seconds >= 0, seconds < 4_102_444_800 else { return nil }
    return Date(timeIntervalSince1970: seconds)
  }
}

/// A recursive descent over the bytes of one record.
private struct JSONParser {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func document(depth: Int) throws(JSONDatum.Malformed) -> JSONDatum {
    let value = try self.value(depth: depth)
    skipSpace()
    guard position == bytes.count else { throw malformed("ends before its last byte") }
    return value
  }

  private mutating func value(depth: Int) throws(JSONDatum.Malformed) -> JSONDatum {
    guard depth < JSONDatum.maxDepth else { throw malformed("is nested more than \(JSONDatum.maxDepth) levels deep") }
    skipSpace()
    guard position < bytes.count else { throw malformed("ends too early") }
    switch bytes[position] {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func object(depth: Int) throws(JSONDatum.Malformed) -> JSONDatum {
    position += 1
    var members: [String: JSONDatum] = [:]
    if take(UInt8(ascii: "}")) { return .object(members) }
    while true {
      skipSpace()
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { throw malformed("lacks a name") }
      let name = try string()
      guard take(UInt8(ascii: ":")) else { throw malformed("lacks a ':' after a name") }
      members[name] = try value(depth: depth + 1)
      if take(UInt8(ascii: ",")) { continue }
      guard take(UInt8(ascii: "}")) else { throw malformed("lacks a ',' or a '}'") }
      return .object(members)
    }
  }

  private mutating func array(depth: Int) throws(JSONDatum.Malformed) -> JSONDatum {
    position += 1
    var elements: [JSONDatum] = []
    if take(UInt8(ascii: "]")) { return .array(elements) }
    while true {
      elements.append(try value(depth: depth + 1))
      if take(UInt8(ascii: ",")) { continue }
      guard take(UInt8(ascii: "]")) else { throw malformed("lacks a ',' or a ']'") }
      return .array(elements)
    }
  }

  private mutating func string() throws(JSONDatum.Malformed) -> String {
    position += 1
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw malformed("has text that is no UTF-8") }
        return string
      case UInt8(ascii: "\\"): try escape(into: &text)
      case 0..<0x20: throw malformed("has a control character in a text")
      default: text.append(byte)
      }
    }
    throw malformed("ends within a text")
  }

  private mutating func escape(into text: inout [UInt8]) throws(JSONDatum.Malformed) {
    guard position < bytes.count else { throw malformed("ends within a text") }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(8)
    case UInt8(ascii: "f"): text.append(12)
    case UInt8(ascii: "n"): text.append(10)
    case UInt8(ascii: "r"): text.append(13)
    case UInt8(ascii: "t"): text.append(9)
    case UInt8(ascii: "u"): text.append(contentsOf: String(Character(try scalar())).utf8)
    default: throw malformed("has an unknown escape in a text")
    }
  }

  /// A code point of one or two `\u` escapes; half a pair, which some phones cut off, becomes U+FFFD.
  private mutating func scalar() throws(JSONDatum.Malformed) -> Unicode.Scalar {
    let replacement: Unicode.Scalar = "\u{FFFD}"
    let first = try hexadecimal()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard (0xD800..<0xDC00).contains(first), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u")
    else { return replacement }
    let start = position
    position += 2
    let second = try hexadecimal()
    guard (0xDC00..<0xE000).contains(second) else {
      position = start
      return replacement
    }
    return Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)) ?? replacement
  }

  private mutating func hexadecimal() throws(JSONDatum.Malformed) -> UInt32 {
    guard position + 4 <= bytes.count,
      let number = UInt32(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
    else { throw malformed("has a broken \\u escape in a text") }
    position += 4
    return number
  }

  private mutating func number() throws(JSONDatum.Malformed) -> JSONDatum {
    let start = position
    while position < bytes.count, Self.isOfNumber(bytes[position]) { position += 1 }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    // Swift reads '+5' and '.5' too, of which the file of rejected records could not be read again.
    guard let first = text.utf8.first(where: { $0 != UInt8(ascii: "-") }), (0x30...0x39).contains(first),
      let number = Double(text), number.isFinite
    else { throw malformed("has '\(text.prefix(20))' for a value") }
    return .number(number)
  }

  private static func isOfNumber(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || byte == 0x2B || byte == 0x2D || byte == 0x2E || byte | 0x20 == 0x65
  }

  private mutating func word(_ word: StaticString, _ value: JSONDatum) throws(JSONDatum.Malformed) -> JSONDatum {
    let length = word.utf8CodeUnitCount
    let isThere = word.withUTF8Buffer { bytes[position...].prefix(length).elementsEqual($0) }
    guard isThere else { throw malformed("has an unknown word for a value") }
    position += length
    return value
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    skipSpace()
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while position < bytes.count, JSONStream.isSpace(bytes[position]) { position += 1 }
  }

  private func malformed(_ what: String) -> JSONDatum.Malformed {
    JSONDatum.Malformed(description: "is not JSON: it \(what), at byte \(position)")
  }
}
