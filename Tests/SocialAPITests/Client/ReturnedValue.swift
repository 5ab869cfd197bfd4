import Foundation

@testable import FanmillClient
@testable import SocialAPI

/// Compares what the client returns with the JSON that it read.
enum ReturnedValue {
  static func json(_ value: any Encodable) throws -> JSONValue {
    let encoder = APICoding.encoder
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
    return try JSONValue(bytes: Array(try encoder.encode(value)))
  }

  /// The places of values that were sent and are not returned. Null is no value.
  static func missing(_ sent: JSONValue, in returned: JSONValue?, at place: String) -> [String] {
    switch (sent, returned) {
    case (.null, _): []
    case (.object(let fields), .object(let others)):
      fields.flatMap { missing($0.value, in: others[$0.key], at: "\(place).\($0.key)") }
    case (.array(let elements), .array(let others)) where elements.count == others.count:
      zip(elements, others).flatMap { missing($0, in: $1, at: place) }
    case (.bool(let one), .bool(let other)): one == other ? [] : [place]
    case (.integer(let one), .integer(let other)): one == other ? [] : [place]
    case (.number(let one), .number(let other)): one == other ? [] : [place]
    // Foundation writes a UUID in capitals.
    case (.string(let one), .string(let other)):
      one == other || UUID(uuidString: one).map { $0 == UUID(uuidString: other) } == true ? [] : [place]
    default: [place]
    }
  }
}
