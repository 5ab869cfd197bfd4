#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The default encoding of payloads: JSON, with ISO 8601 dates.
enum PayloadCoding {
  static func encode(_ value: some Encodable) throws -> [UInt8] {
    if let text = try PayloadText.json(of: value) { return text }
    return Array(try encoder.encode(value))
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from payload: [UInt8]) throws -> Value {
    if let value = PayloadReader.value(type, from: payload) { return value }
    return try decoder.decode(type, from: Data(payload))
  }

  private static let encoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return encoder
  }()

  private static let decoder: JSONDecoder = {
    let decoder = JSONDecoder()
    // Like `.iso8601`, but with the field in its error.
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      do {
        return try Date(text, strategy: .iso8601)
      } catch {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not a date", underlyingError: error))
      }
    }
    return decoder
  }()
}

/// Whether Foundation's encoder writes a type differently from the type's own `Codable` conformance.
func isForeign(_ type: any Any.Type) -> Bool {
  type == Date.self || type == Data.self || type == URL.self || type == Decimal.self || type == Double.self
    || type == Float.self
}
