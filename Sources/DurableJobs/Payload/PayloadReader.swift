/// Reads simple payloads several times as fast as Foundation. Anything complex or invalid goes to Foundation's decoder
/// from the start, so that values, errors and their paths are always Foundation's.
final class PayloadReader {
  fileprivate let tape: PayloadTape
  /// Whether Foundation has to decide. A flag, since the decoding type may have caught the error.
  fileprivate var isDoubtful = false

  private init(_ tape: PayloadTape) { self.tape = tape }

  /// - Returns: nil if Foundation has to read the payload.
  static func value<Value: Decodable>(_ type: Value.Type, from payload: [UInt8]) -> Value? {
    guard !isForeign(type), let tape = PayloadTape(payload) else { return nil }
    let reader = PayloadReader(tape)
    do {
      let value = try Value(from: Place(reader: reader, index: 0))
      return reader.isDoubtful ? nil : value
    } catch {
      // Foundation's decoder meets the error again and describes it.
      return nil
    }
  }
}

/// Thrown for values that only Foundation's decoder can judge.
private struct Doubt: Error {}

/// A value's position on the tape.
private struct Place: Decoder, SingleValueDecodingContainer {
  let reader: PayloadReader
  let index: Int
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  var entry: PayloadTape.Entry { reader.tape.entries[index] }

  func doubt() -> Doubt {
    reader.isDoubtful = true
    return Doubt()
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard entry.kind == .object else { throw doubt() }
    return KeyedDecodingContainer(Fields(place: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard entry.kind == .array else { throw doubt() }
    return Elements(place: self)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { entry.kind == .null }

  func decode(_ type: Bool.Type) throws -> Bool {
    switch entry.kind {
    case .yes: true
    case .no: false
    default: throw doubt()
    }
  }

  func decode(_ type: String.Type) throws -> String {
    guard entry.kind == .string else { throw doubt() }
    return String(decoding: reader.tape.bytes[entry.first..<entry.end], as: UTF8.self)
  }

  func integer<I: FixedWidthInteger>(_ type: I.Type = I.self) throws -> I {
    let entry = entry
    guard entry.kind == .integer else { throw doubt() }
    let isNegative = reader.tape.bytes[entry.first] == UInt8(ascii: "-")
    var value: I = 0
    for position in (isNegative ? entry.first + 1 : entry.first)..<entry.end {
      let digit = I(truncatingIfNeeded: reader.tape.bytes[position] - 48)
      let (tens, tooMany) = value.multipliedReportingOverflow(by: 10)
      let (sum, tooLarge) =
        isNegative ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
      if tooMany || tooLarge { throw doubt() }
      value = sum
    }
    return value
  }

  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  func decode(_ type: Double.Type) throws -> Double { throw doubt() }
  func decode(_ type: Float.Type) throws -> Float { throw doubt() }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if isForeign(type) { throw doubt() }
    return try Value(from: self)
  }
}

private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let place: Place
  var codingPath: [any CodingKey] { [] }

  /// The indices of the keys; each value follows its key.
  private var keys: [Int] {
    var keys: [Int] = []
    var index = place.index + 1
    while index < place.entry.next {
      keys.append(index)
      index = place.reader.tape.entries[index + 1].next
    }
    return keys
  }

  var allKeys: [Key] {
    keys.compactMap { index in
      let entry = place.reader.tape.entries[index]
      return Key(stringValue: String(decoding: place.reader.tape.bytes[entry.first..<entry.end], as: UTF8.self))
    }
  }

  private func find(_ key: Key) -> Place? {
    let tape = place.reader.tape
    var name = key.stringValue
    return name.withUTF8 { name in
      var found: Place?
      var index = place.index + 1
      let end = place.entry.next
      while index < end {
        let entry = tape.entries[index]
        if entry.end - entry.first == name.count, tape.bytes[entry.first..<entry.end].elementsEqual(name) {
          // Foundation decides which of two fields with the same name counts.
          if found != nil { place.reader.isDoubtful = true }
          found = Place(reader: place.reader, index: index + 1)
        }
        index = tape.entries[index + 1].next
      }
      return found
    }
  }

  private func field(_ key: Key) throws -> Place {
    guard let found = find(key) else { throw place.doubt() }
    return found
  }

  func contains(_ key: Key) -> Bool { find(key) != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try field(key).decodeNil() }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try field(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try field(key).decode(type) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try field(key).integer() }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try field(key).integer() }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try field(key).integer() }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try field(key).integer() }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try field(key).integer() }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try field(key).integer() }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try field(key).integer() }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try field(key).integer() }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try field(key).integer() }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try field(key).integer() }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { throw place.doubt() }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { throw place.doubt() }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try field(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try field(key).container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try field(key).unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { throw place.doubt() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw place.doubt() }
}

private struct Elements: UnkeyedDecodingContainer {
  private let place: Place
  /// The next entry to decode.
  private var index: Int
  private(set) var currentIndex = 0
  var codingPath: [any CodingKey] { [] }

  init(place: Place) {
    self.place = place
    index = place.index + 1
  }

  var count: Int? {
    var count = 0
    var index = place.index + 1
    while index < place.entry.next {
      index = place.reader.tape.entries[index].next
      count += 1
    }
    return count
  }

  var isAtEnd: Bool { index >= place.entry.next }

  private mutating func element<Value>(_ read: (Place) throws -> Value) throws -> Value {
    guard !isAtEnd else { throw place.doubt() }
    let value = try read(Place(reader: place.reader, index: index))
    index = place.reader.tape.entries[index].next
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd else { throw place.doubt() }
    guard place.reader.tape.entries[index].kind == .null else { return false }
    return try element { _ in true }
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try element { try $0.decode(type) } }
  mutating func decode(_ type: String.Type) throws -> String { try element { try $0.decode(type) } }
  mutating func decode(_ type: Int.Type) throws -> Int { try element { try $0.integer() } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try element { try $0.integer() } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try element { try $0.integer() } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try element { try $0.integer() } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try element { try $0.integer() } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try element { try $0.integer() } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try element { try $0.integer() } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try element { try $0.integer() } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try element { try $0.integer() } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try element { try $0.integer() } }
  mutating func decode(_ type: Double.Type) throws -> Double { throw place.doubt() }
  mutating func decode(_ type: Float.Type) throws -> Float { throw place.doubt() }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try element { try $0.decode(type) } }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try element { try $0.container(keyedBy: type) } }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try element { try $0.unkeyedContainer() }
  }
  mutating func superDecoder() throws -> any Decoder { throw place.doubt() }
}
