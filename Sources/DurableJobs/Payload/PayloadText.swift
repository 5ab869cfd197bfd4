/// Writes a payload's JSON directly from a type's `Encodable` calls.
///
/// Foundation's encoder builds a tree first and takes about 3 µs for a small payload, half the total cost of enqueueing
/// a job in bulk. This one writes booleans, integers, strings, and objects and arrays of them. Anything else (dates,
/// fractions, inherited parts) it reports as unsupported and leaves to Foundation's encoder.
final class PayloadText {
  /// The form of the value being encoded, so far.
  fileprivate enum Form {
    case nothing, object, array, single
  }

  fileprivate private(set) var bytes: [UInt8] = []
  fileprivate private(set) var isComplete = true
  private var form = Form.nothing

  /// - Returns: the payload as UTF-8 text, or nil if it contains values that only Foundation's encoder supports.
  /// - Throws: any error of the type's `encode(to:)`.
  static func json(of value: some Encodable) throws -> [UInt8]? {
    let text = PayloadText()
    text.bytes.reserveCapacity(128)
    try text.append(value: value)
    return text.isComplete ? text.bytes : nil
  }

  /// Leaves the value to Foundation's encoder.
  fileprivate func giveUp() { isComplete = false }

  fileprivate func begin(_ new: Form) {
    if form == .nothing {
      form = new
      switch new {
      case .object: bytes.append(UInt8(ascii: "{"))
      case .array: bytes.append(UInt8(ascii: "["))
      case .single, .nothing: break
      }
    } else if form != new || new == .single {
      giveUp()
    }
  }

  fileprivate func append<Value: Encodable>(value: Value) throws {
    if isForeign(Value.self) { return giveUp() }
    let outer = form
    form = .nothing
    try value.encode(to: PayloadTextEncoder(text: self))
    switch form {
    case .object: bytes.append(UInt8(ascii: "}"))
    case .array: bytes.append(UInt8(ascii: "]"))
    case .single: break
    case .nothing: giveUp()
    }
    form = outer
  }

  /// Begins an element or a field: all but the first follow a comma.
  fileprivate func separate() {
    if bytes.last != UInt8(ascii: "{"), bytes.last != UInt8(ascii: "[") { bytes.append(UInt8(ascii: ",")) }
  }

  fileprivate func append(key: some CodingKey) {
    separate()
    append(key.stringValue)
    bytes.append(UInt8(ascii: ":"))
  }

  fileprivate func append(_ flag: Bool) { bytes.append(contentsOf: (flag ? "true" : "false").utf8) }
  fileprivate func appendNull() { bytes.append(contentsOf: "null".utf8) }

  fileprivate func append(_ number: some FixedWidthInteger) {
    var number = number
    if number < 0 { return bytes.append(contentsOf: String(number).utf8) }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var first = digits.count
      repeat {
        first -= 1
        digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10)
        number /= 10
      } while number > 0
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
    }
  }

  fileprivate func append(_ text: String) {
    var text = text
    bytes.append(UInt8(ascii: "\""))
    text.withUTF8 { letters in
      var plain = letters.startIndex
      for index in letters.indices where Self.needsEscape(letters[index]) {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: letters[plain..<index]))
        appendEscaped(letters[index])
        plain = index + 1
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: letters[plain...]))
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// RFC 8259, section 7.
  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private func appendEscaped(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case 8: bytes.append(UInt8(ascii: "b"))
    case 9: bytes.append(UInt8(ascii: "t"))
    case 10: bytes.append(UInt8(ascii: "n"))
    case 12: bytes.append(UInt8(ascii: "f"))
    case 13: bytes.append(UInt8(ascii: "r"))
    default:
      let digits = Array("0123456789abcdef".utf8)
      bytes += [
        UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0"), digits[Int(byte >> 4)], digits[Int(byte & 15)],
      ]
    }
  }
}

private struct PayloadTextEncoder: Encoder {
  let text: PayloadText
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    text.begin(.object)
    return KeyedEncodingContainer(ObjectContainer(text: text))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    text.begin(.array)
    return ArrayContainer(text: text)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleContainer(text: text) }
}

private struct ObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let text: PayloadText
  var codingPath: [any CodingKey] { [] }

  private func field(_ key: Key, _ write: (PayloadText) throws -> Void) rethrows {
    text.append(key: key)
    try write(text)
  }

  mutating func encodeNil(forKey key: Key) { field(key) { $0.appendNull() } }
  mutating func encode(_ value: Bool, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: String, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: Int, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: Int8, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: Int16, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: Int32, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: Int64, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: UInt, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: UInt8, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: UInt16, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: UInt32, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: UInt64, forKey key: Key) { field(key) { $0.append(value) } }
  mutating func encode(_ value: Double, forKey key: Key) { text.giveUp() }
  mutating func encode(_ value: Float, forKey key: Key) { text.giveUp() }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try field(key) { try $0.append(value: value) }
  }

  // A nested container stays open while its parent is written to; only Foundation's encoder supports that.
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy keyType: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { text.elsewhere.container(keyedBy: keyType) }
  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    text.elsewhere.unkeyedContainer()
  }
  mutating func superEncoder() -> any Encoder { text.elsewhere }
  mutating func superEncoder(forKey key: Key) -> any Encoder { text.elsewhere }
}

private struct ArrayContainer: UnkeyedEncodingContainer {
  let text: PayloadText
  var codingPath: [any CodingKey] { [] }
  private(set) var count = 0

  init(text: PayloadText) { self.text = text }

  private mutating func element(_ write: (PayloadText) throws -> Void) rethrows {
    text.separate()
    try write(text)
    count += 1
  }

  mutating func encodeNil() { element { $0.appendNull() } }
  mutating func encode(_ value: Bool) { element { $0.append(value) } }
  mutating func encode(_ value: String) { element { $0.append(value) } }
  mutating func encode(_ value: Int) { element { $0.append(value) } }
  mutating func encode(_ value: Int8) { element { $0.append(value) } }
  mutating func encode(_ value: Int16) { element { $0.append(value) } }
  mutating func encode(_ value: Int32) { element { $0.append(value) } }
  mutating func encode(_ value: Int64) { element { $0.append(value) } }
  mutating func encode(_ value: UInt) { element { $0.append(value) } }
  mutating func encode(_ value: UInt8) { element { $0.append(value) } }
  mutating func encode(_ value: UInt16) { element { $0.append(value) } }
  mutating func encode(_ value: UInt32) { element { $0.append(value) } }
  mutating func encode(_ value: UInt64) { element { $0.append(value) } }
  mutating func encode(_ value: Double) { text.giveUp() }
  mutating func encode(_ value: Float) { text.giveUp() }
  mutating func encode<Value: Encodable>(_ value: Value) throws { try element { try $0.append(value: value) } }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy keyType: Nested.Type) -> KeyedEncodingContainer<Nested> {
    text.elsewhere.container(keyedBy: keyType)
  }
  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { text.elsewhere.unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { text.elsewhere }
}

private struct SingleContainer: SingleValueEncodingContainer {
  let text: PayloadText
  var codingPath: [any CodingKey] { [] }

  private func only(_ write: (PayloadText) throws -> Void) rethrows {
    text.begin(.single)
    try write(text)
  }

  mutating func encodeNil() { only { $0.appendNull() } }
  mutating func encode(_ value: Bool) { only { $0.append(value) } }
  mutating func encode(_ value: String) { only { $0.append(value) } }
  mutating func encode(_ value: Int) { only { $0.append(value) } }
  mutating func encode(_ value: Int8) { only { $0.append(value) } }
  mutating func encode(_ value: Int16) { only { $0.append(value) } }
  mutating func encode(_ value: Int32) { only { $0.append(value) } }
  mutating func encode(_ value: Int64) { only { $0.append(value) } }
  mutating func encode(_ value: UInt) { only { $0.append(value) } }
  mutating func encode(_ value: UInt8) { only { $0.append(value) } }
  mutating func encode(_ value: UInt16) { only { $0.append(value) } }
  mutating func encode(_ value: UInt32) { only { $0.append(value) } }
  mutating func encode(_ value: UInt64) { only { $0.append(value) } }
  mutating func encode(_ value: Double) { text.giveUp() }
  mutating func encode(_ value: Float) { text.giveUp() }
  mutating func encode<Value: Encodable>(_ value: Value) throws { try only { try $0.append(value: value) } }
}

extension PayloadText {
  /// A sink for unsupported values; Foundation's encoder starts over.
  fileprivate var elsewhere: PayloadTextEncoder {
    giveUp()
    return PayloadTextEncoder(text: PayloadText())
  }
}
