/// A JSON value as the API's document states it: fields keep the order in which they are written.
indirect enum JSONLiteral: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONLiteral])
  case object([Field])

  struct Field: Sendable, Hashable {
    let name: String
    let value: JSONLiteral
  }

  /// An object of the fields that have a value.
  static func fields(_ fields: [(String, JSONLiteral?)]) -> JSONLiteral {
    .object(fields.compactMap { name, value in value.map { Field(name: name, value: $0) } })
  }

  /// The value of an object's field; nil if there is none.
  subscript(name: String) -> JSONLiteral? {
    guard case .object(let fields) = self else { return nil }
    return fields.first { $0.name == name }?.value
  }

  /// The value without line breaks.
  var text: String {
    var json = JSONBytes()
    json.literal(self)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// The value without the quotation marks of a string.
  var plain: String {
    if case .string(let text) = self { text } else { text }
  }

  /// The value on indented lines, for readers.
  func pretty(_ indentation: String = "") -> String {
    let deeper = indentation + "  "
    switch self {
    case .array(let values) where !values.isEmpty:
      let lines = values.map { deeper + $0.pretty(deeper) }
      return "[\n" + lines.joined(separator: ",\n") + "\n\(indentation)]"
    case .object(let fields) where !fields.isEmpty:
      let lines = fields.map { field -> String in
        "\(deeper)\(JSONLiteral.string(field.name).text): \(field.value.pretty(deeper))"
      }
      return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
    default: return text
    }
  }
}

extension JSONLiteral: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
  init(stringLiteral value: String) { self = .string(value) }
  init(integerLiteral value: Int) { self = .integer(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
}

// No nil literal: in a list of optional fields, `nil` means that the field is missing.
extension JSONLiteral: ExpressibleByFloatLiteral {
  init(floatLiteral value: Double) { self = .number(value) }
}

extension JSONLiteral: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  init(arrayLiteral elements: JSONLiteral...) { self = .array(elements) }

  init(dictionaryLiteral elements: (String, JSONLiteral)...) {
    self = .object(elements.map { Field(name: $0.0, value: $0.1) })
  }
}
