import Foundation

/// The API's JSON: times in ISO 8601, bytes in Base64 for URLs.
enum APICoding {
  static var decoder: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      for style in [Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle()] {
        // A time in the other form is no error.
        if let date = try? style.parse(text) { return date }
      }
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not a time in ISO 8601"))
    }
    decoder.dataDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      guard let data = Base64URL.data(text) else {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not Base64 for URLs"))
      }
      return data
    }
    return decoder
  }

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dataEncodingStrategy = .custom { data, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(Base64URL.text(data))
    }
    // The same request has the same bytes, so that its Idempotency-Key fits.
    encoder.outputFormatting = [.sortedKeys]
    return encoder
  }
}

/// Base64 with the alphabet for URLs and without padding (RFC 4648, 5).
enum Base64URL {
  static func text(_ data: Data) -> String {
    data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  static func data(_ text: String) -> Data? {
    let plain = text.replacing("-", with: "+").replacing("_", with: "/")
    return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4))
  }
}
