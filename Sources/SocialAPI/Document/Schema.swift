/// The form of a JSON value: the part of JSON Schema (draft 2020-12) that the API needs.
struct Schema: Sendable, Hashable {
  indirect enum Form: Sendable, Hashable {
    case any
    case null
    case boolean
    case number
    case integer(ClosedRange<Int>?)
    case string(Text)
    case array(Schema, counts: ClosedRange<Int>?)
    case object([Property])
    /// A named schema of the document.
    case named(String)
    case oneOf([Schema])
  }

  /// The rules of a string. Lengths count Unicode code points.
  struct Text: Sendable, Hashable {
    var lengths: ClosedRange<Int>?
    var pattern: String?
    var format: String?
    /// The only valid values.
    var values: [String]?
  }

  struct Property: Sendable, Hashable {
    let name: String
    let schema: Schema
    let isRequired: Bool
  }

  var form: Form
  var summary = ""
  var isNullable = false
  /// Whether a later version drops the field.
  var isDeprecated = false
  /// The value in examples; nil to compose one from the form.
  var example: JSONLiteral?

  init(_ form: Form) { self.form = form }

  /// The same schema, explained.
  func saying(_ summary: String, example: JSONLiteral? = nil) -> Schema {
    var schema = self
    schema.summary = summary
    if let example { schema.example = example }
    return schema
  }

  var deprecated: Schema {
    var schema = self
    schema.isDeprecated = true
    return schema
  }

  var orNull: Schema {
    var schema = self
    schema.isNullable = true
    return schema
  }
}

// MARK: Building

extension Schema {
  static let any = Schema(.any)
  static let null = Schema(.null)
  static let boolean = Schema(.boolean)
  static let number = Schema(.number)
  static let integer = Schema(.integer(nil))
  static let count = Schema(.integer(0...Int.max))
  static let text = Schema(.string(Text()))
  /// The bytes of a body, as generators of clients know them.
  static let binary = Schema(.string(Text(format: "binary"))).saying("The bytes.")
  static let date = Schema(.string(Text(format: "date-time"))).saying("", example: "2026-11-27T09:30:00.000Z")

  static func integer(_ range: ClosedRange<Int>) -> Schema { Schema(.integer(range)) }
  static func text(_ lengths: ClosedRange<Int>) -> Schema { Schema(.string(Text(lengths: lengths))) }
  static func text(format: String) -> Schema { Schema(.string(Text(format: format))) }
  static func text(pattern: String) -> Schema { Schema(.string(Text(pattern: pattern))) }
  static func oneOf(_ schemas: Schema...) -> Schema { Schema(.oneOf(schemas)) }
  static func named(_ name: String) -> Schema { Schema(.named(name)) }
  static func object(_ properties: Property...) -> Schema { Schema(.object(properties)) }
  static func object(_ properties: [Property]) -> Schema { Schema(.object(properties)) }

  static func values(_ values: [String]) -> Schema { Schema(.string(Text(values: values))) }
  static func values(_ values: String...) -> Schema { Schema(.string(Text(values: values))) }

  static func array(_ element: Schema, _ counts: ClosedRange<Int>? = nil) -> Schema {
    Schema(.array(element, counts: counts))
  }

  /// Bytes in Base64url without padding.
  static func bytes(_ counts: ClosedRange<Int>) -> Schema {
    // Three bytes are four characters; a rest of one or two bytes, two or three.
    func characters(_ bytes: Int) -> Int { (bytes * 4 + 2) / 3 }
    let text = Text(lengths: characters(counts.lowerBound)...characters(counts.upperBound), pattern: "^[A-Za-z0-9_-]*$")
    let example = String(repeating: "A", count: characters(counts.lowerBound))
    return Schema(.string(text)).saying("", example: .string(example))
  }

  static func bytes(_ count: Int) -> Schema { bytes(count...count) }
}

extension Schema.Property {
  /// A field that is always present.
  static func required(
    _ name: String, _ schema: Schema, _ summary: String? = nil, example: JSONLiteral? = nil
  ) -> Self {
    Self(name: name, schema: schema.saying(summary ?? schema.summary, example: example), isRequired: true)
  }

  /// A field that is always present, and null without a value.
  static func nullable(
    _ name: String, _ schema: Schema, _ summary: String? = nil, example: JSONLiteral? = nil
  ) -> Self {
    required(name, schema.orNull, summary, example: example)
  }

  /// A field that may be missing. Examples show it only if it has one.
  static func optional(
    _ name: String, _ schema: Schema, _ summary: String? = nil, example: JSONLiteral? = nil
  ) -> Self {
    var schema = schema.saying(summary ?? schema.summary)
    schema.example = example
    return Self(name: name, schema: schema, isRequired: false)
  }
}

// MARK: Reading

extension Schema {
  /// The fields of an object, or of the named schema that is one.
  var properties: [Property] {
    switch form {
    case .object(let properties): properties
    case .named(let name): Components.schema(name)?.properties ?? []
    default: []
    }
  }

  /// An example of the value.
  var sample: JSONLiteral {
    if let example { return example }
    switch form {
    case .any: return ["post": 1, "author": 2]
    case .null: return .null
    case .boolean: return false
    case .number: return 0.5
    case .integer(let range): return .integer(max(range?.lowerBound ?? 0, 1))
    case .string(let text):
      return .string(text.values?.first ?? (text.format == "uri" ? "https://example.org/" : "text"))
    case .array(let element, _): return .array([element.sample])
    case .object(let properties):
      let shown = properties.filter { $0.isRequired || $0.schema.example != nil }
      return .object(shown.map { JSONLiteral.Field(name: $0.name, value: $0.schema.sample) })
    case .named(let name): return Components.schema(name)?.sample ?? .null
    case .oneOf(let schemas): return schemas.first?.sample ?? .null
    }
  }

  /// The type for readers: `string, 1–200 characters`.
  var words: String {
    let words: String
    switch form {
    case .any: words = "any JSON"
    case .null: words = "null"
    case .boolean: words = "true or false"
    case .number: words = "number"
    case .integer(let range): words = Self.words("integer", of: range, unit: "")
    case .string(let text):
      if let values = text.values {
        words = values.joined(separator: ", ")
      } else {
        words = Self.words(text.format.map { "string (\($0))" } ?? "string", of: text.lengths, unit: " characters")
      }
    case .array(let element, let counts): words = Self.words("list of \(element.words)", of: counts, unit: " items")
    case .object: words = "object"
    case .named(let name): words = name
    case .oneOf(let schemas): words = schemas.map(\.words).joined(separator: " or ")
    }
    return isNullable ? "\(words), or null" : words
  }

  private static func words(_ type: String, of range: ClosedRange<Int>?, unit: String) -> String {
    guard let range else { return type }
    switch (range.lowerBound, range.upperBound) {
    case (Int.min, Int.max): return type
    case (let low, Int.max): return "\(type), from \(low)\(unit)"
    case (0, let high) where !unit.isEmpty: return "\(type), at most \(high)\(unit)"
    case (let low, let high): return low == high ? "\(type), \(low)\(unit)" : "\(type), \(low)–\(high)\(unit)"
    }
  }

  /// The schema as OpenAPI 3.1 writes it.
  var json: JSONLiteral {
    var fields: [(String, JSONLiteral?)] = []
    switch form {
    case .any: break
    case .null: fields.append(("type", "null"))
    case .boolean: fields.append(("type", type("boolean")))
    case .number: fields.append(("type", type("number")))
    case .integer(let range):
      fields.append(("type", type("integer")))
      if let range, range.lowerBound != .min { fields.append(("minimum", .integer(range.lowerBound))) }
      if let range, range.upperBound != .max { fields.append(("maximum", .integer(range.upperBound))) }
    case .string(let text):
      fields.append(("type", type("string")))
      if let lengths = text.lengths, lengths.lowerBound > 0 {
        fields.append(("minLength", .integer(lengths.lowerBound)))
      }
      if let lengths = text.lengths { fields.append(("maxLength", .integer(lengths.upperBound))) }
      fields.append(("pattern", text.pattern.map { .string($0) }))
      fields.append(("format", text.format.map { .string($0) }))
      if let values = text.values {
        let all = values.map { JSONLiteral.string($0) } + (isNullable ? [JSONLiteral.null] : [])
        fields.append(("enum", .array(all)))
      }
    case .array(let element, let counts):
      fields.append(("type", type("array")))
      fields.append(("items", element.json))
      if let counts, counts.lowerBound > 0 { fields.append(("minItems", .integer(counts.lowerBound))) }
      if let counts, counts.upperBound != .max { fields.append(("maxItems", .integer(counts.upperBound))) }
    case .object(let properties):
      fields.append(("type", type("object")))
      let names = properties.filter(\.isRequired).map { JSONLiteral.string($0.name) }
      if !names.isEmpty { fields.append(("required", .array(names))) }
      fields.append(
        ("properties", .object(properties.map { JSONLiteral.Field(name: $0.name, value: $0.schema.json) })))
    case .named(let name):
      let reference: JSONLiteral = ["$ref": .string("#/components/schemas/\(name)")]
      if isNullable {
        fields.append(("oneOf", .array([reference, ["type": "null"]])))
      } else {
        fields.append(("$ref", reference["$ref"]))
      }
    case .oneOf(let schemas):
      let all = schemas.map(\.json) + (isNullable ? [["type": "null"] as JSONLiteral] : [])
      fields.append(("oneOf", .array(all)))
    }
    if isDeprecated { fields.append(("deprecated", true)) }
    if !summary.isEmpty { fields.append(("description", .string(summary))) }
    return .fields(fields)
  }

  private func type(_ name: String) -> JSONLiteral {
    isNullable ? .array([.string(name), "null"]) : .string(name)
  }
}
