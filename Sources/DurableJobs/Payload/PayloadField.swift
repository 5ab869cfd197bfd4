#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One field of a kind's payload, for people who enqueue jobs by hand.
public struct PayloadField: Codable, Sendable, Hashable {
  public let name: String
  /// Such as `integer`, `text`, `true or false`, `time`, `list`.
  public let type: String
  /// Whether decoding fails without it.
  public let isRequired: Bool

  public init(name: String, type: String, isRequired: Bool) {
    self.name = name
    self.type = type
    self.isRequired = isRequired
  }

  /// The fields that a type requests from its decoder; nil if it is not an object or rejects empty values.
  static func all(of type: (some Decodable).Type) -> [PayloadField]? {
    let found = Found()
    do {
      _ = try type.init(from: Probe(found: found))
      return found.isOther ? nil : found.fields
    } catch {
      // A type that validates its values cannot be probed.
      return nil
    }
  }

  /// The fields requested from the probe.
  private final class Found {
    var fields: [PayloadField] = []
    /// Whether it is a list or a single value. A type without fields requests nothing.
    var isOther = false
  }

  private struct Unanswerable: Error {}

  /// A decoder that returns an empty value for every request and records the requests.
  private struct Probe: Decoder {
    let found: Found
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
      KeyedDecodingContainer(Keyed(found: found))
    }
    func unkeyedContainer() -> any UnkeyedDecodingContainer {
      found.isOther = true
      return Empty()
    }
    func singleValueContainer() -> any SingleValueDecodingContainer {
      found.isOther = true
      return Single()
    }

    static func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
      switch type {
      case let type as any FixedWidthInteger.Type: if let zero = type.init(exactly: 0) as? Value { return zero }
      case is Double.Type: if let zero = 0.0 as? Value { return zero }
      case is Float.Type: if let zero = Float(0) as? Value { return zero }
      case is Bool.Type: if let no = false as? Value { return no }
      case is String.Type: if let text = "" as? Value { return text }
      case is Date.Type: if let date = Date(timeIntervalSince1970: 0) as? Value { return date }
      case is UUID.Type: if let id = UUID() as? Value { return id }
      case let type as any CaseIterable.Type: if let first = first(type) as? Value { return first }
      default: return try Value(from: Probe(found: Found()))
      }
      throw Unanswerable()
    }

    private static func first<Cases: CaseIterable>(_ type: Cases.Type) -> Any? { type.allCases.first }

    private static func rawName<Value: RawRepresentable>(_ type: Value.Type) -> String { name(Value.RawValue.self) }

    static func name(_ type: any Any.Type) -> String {
      switch type {
      case is any FixedWidthInteger.Type: "integer"
      case is any BinaryFloatingPoint.Type: "number"
      case is Bool.Type: "true or false"
      case let type as any RawRepresentable.Type: rawName(type)
      case is Date.Type: "time"
      case is any RangeReplaceableCollection.Type where type != String.self: "list"
      case is any ExpressibleByDictionaryLiteral.Type: "object"
      default: "text"
      }
    }
  }

  private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let found: Found
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    private func note(_ key: Key, _ type: any Any.Type, isRequired: Bool) {
      found.fields.append(
        PayloadField(name: key.stringValue, type: Probe.name(type), isRequired: isRequired))
    }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { false }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      note(key, type, isRequired: true)
      return try Probe.value(type)
    }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? {
      note(key, type, isRequired: false)
      return nil
    }
    // The standard library has separate methods for these types.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) -> Bool? { absent(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? { absent(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) -> Double? { absent(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) -> Float? { absent(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) -> Int? { absent(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) -> Int8? { absent(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) -> Int16? { absent(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) -> Int32? { absent(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) -> Int64? { absent(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) -> UInt? { absent(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) -> UInt8? { absent(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) -> UInt16? { absent(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) -> UInt32? { absent(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) -> UInt64? { absent(type, key) }

    private func absent<Value>(_ type: Value.Type, _ key: Key) -> Value? {
      note(key, type, isRequired: false)
      return nil
    }

    func nestedContainer<NestedKey: CodingKey>(
      keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
      throw Unanswerable()
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Unanswerable() }
    func superDecoder() throws -> any Decoder { throw Unanswerable() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw Unanswerable() }
  }

  private struct Empty: UnkeyedDecodingContainer {
    var codingPath: [any CodingKey] { [] }
    var count: Int? { 0 }
    var isAtEnd: Bool { true }
    var currentIndex: Int { 0 }

    func decodeNil() throws -> Bool { throw Unanswerable() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { throw Unanswerable() }
    func nestedContainer<NestedKey: CodingKey>(
      keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
      throw Unanswerable()
    }
    func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unanswerable() }
    func superDecoder() throws -> any Decoder { throw Unanswerable() }
  }

  private struct Single: SingleValueDecodingContainer {
    var codingPath: [any CodingKey] { [] }
    func decodeNil() -> Bool { false }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Probe.value(type) }
  }
}
