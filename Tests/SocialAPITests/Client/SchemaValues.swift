@testable import SocialAPI

/// Values of a schema, for a client to decode.
extension Schema {
  /// The value with every field, none of them null.
  var full: JSONLiteral {
    switch form {
    case .object(let properties):
      .object(properties.map { JSONLiteral.Field(name: $0.name, value: $0.schema.full) })
    case .array(let element, _): .array([element.full])
    case .named(let name): Components.schema(name)?.full ?? .null
    case .oneOf(let schemas): schemas.first?.full ?? .null
    case .any: .object([])
    case .null: .null
    // Decoders that fall back on a default mostly do on false or 0.
    case .boolean: true
    case .number: 0.5
    case .integer(let range): .integer(min((range?.lowerBound ?? 6) + 1, range?.upperBound ?? .max))
    case .string(let text): .string(text.value(example: example))
    }
  }

  /// The value with the required fields alone, and null where that is possible.
  var least: JSONLiteral {
    if acceptsNull { return .null }
    switch form {
    case .object(let properties):
      return .object(
        properties.filter(\.isRequired).map { JSONLiteral.Field(name: $0.name, value: $0.schema.least) })
    case .array(let element, _): return .array([element.least])
    case .named(let name): return Components.schema(name)?.least ?? .null
    default: return full
    }
  }

  var acceptsNull: Bool { isNullable || form == .null }

  /// The full values that differ from `full` in one place.
  var variants: [Variant] {
    switch form {
    case .object(let properties): return properties.indices.flatMap { Self.variants(of: properties, at: $0) }
    case .array(let element, _): return element.variants.map { $0.placed("") { .array([$0]) } }
    case .named(let name): return Components.schema(name)?.variants ?? []
    case .string(let text):
      guard let values = text.values else { return [] }
      return values.map { Variant(place: "", value: .string($0), kind: .valid) }
        + [Variant(place: "", value: "a-later-word", kind: .later)]
    default: return []
    }
  }

  private static func variants(of properties: [Property], at index: Int) -> [Variant] {
    let property = properties[index]
    func object(_ value: JSONLiteral?) -> JSONLiteral {
      .object(
        properties.indices.compactMap { place in
          let field = place == index ? value : properties[place].schema.full
          return field.map { JSONLiteral.Field(name: properties[place].name, value: $0) }
        })
    }
    var variants = property.schema.variants.map { $0.placed(property.name) { object($0) } }
    if property.schema.acceptsNull {
      variants.append(Variant(place: property.name, value: object(.null), kind: .valid))
    }
    if !property.isRequired {
      variants.append(Variant(place: property.name, value: object(nil), kind: .valid))
    } else if !property.schema.acceptsNull {
      variants.append(Variant(place: property.name, value: object(nil), kind: .invalid))
    }
    return variants
  }

  /// A value that differs from the full one in one place.
  struct Variant {
    enum Kind {
      /// The schema allows it.
      case valid
      /// A later version may allow it: clients accept words that they do not know.
      case later
      /// A required field is missing.
      case invalid
    }

    /// The names of the fields that lead there, with dots between them.
    let place: String
    let value: JSONLiteral
    let kind: Kind

    func placed(_ name: String, _ value: (JSONLiteral) -> JSONLiteral) -> Variant {
      Variant(place: [name, place].filter { !$0.isEmpty }.joined(separator: "."), value: value(self.value), kind: kind)
    }
  }
}

extension Schema {
  /// The schema of a field, by the names that lead to it, with dots between them.
  subscript(_ place: String) -> Schema? {
    var schema: Schema? = self
    for name in place.split(separator: ".") {
      schema = schema?.element.properties.first { $0.name == name }?.schema
    }
    return schema
  }

  /// The elements' schema of a list; the schema itself if it is none.
  private var element: Schema {
    if case .array(let element, _) = form { element } else { self }
  }

  /// The only texts that are valid; empty if any is.
  var choices: Set<String> {
    if case .string(let text) = form { Set(text.values ?? []) } else { [] }
  }

  /// The same object, whose named fields are not missing.
  func requiring(_ names: Set<String>) -> Schema {
    guard !names.isEmpty else { return self }
    return .object(
      properties.map { property in
        Property(
          name: property.name, schema: property.schema,
          isRequired: property.isRequired || names.contains(property.name))
      })
  }
}

extension Schema.Text {
  /// A text that the rules allow.
  ///
  /// - Parameter example: a value that may be null.
  fileprivate func value(example: JSONLiteral?) -> String {
    if let word = values?.first { return word }
    if case .string(let text) = example { return text }
    switch format {
    case "date-time": return "2026-11-27T09:30:00.000Z"
    case "date": return "2026-11-27"
    case "uuid": return "0d7c2f1e-5b8a-4c3d-9e6f-1a2b3c4d5e6f"
    case "email": return "ann@example.org"
    case "uri": return "https://example.org/"
    default:
      let counts = lengths ?? 0...Int.max
      return String(repeating: "A", count: min(max(4, counts.lowerBound), counts.upperBound))
    }
  }
}
