import Foundation

@testable import SocialAPI

/// Compares values with the schemas of the API's document: the part of JSON Schema that the document uses.
///
/// It is stricter than JSON Schema in one point: an object has no fields that its schema does not name.
struct SchemaValidator {
  /// Whether a field that may be missing may also be null, as in requests.
  var acceptsNull = false

  /// - Returns: what is wrong, each with the place in the value.
  func violations(_ value: JSONValue, _ schema: JSONLiteral, at place: String = "") -> [String] {
    if let reference = schema["$ref"] {
      guard let named = Self.resolve(reference.plain) else { return ["\(place): nothing is at \(reference.plain)"] }
      return violations(value, named, at: place)
    }
    if let all = schema["oneOf"]?.elements {
      let matching = all.filter { violations(value, $0, at: place).isEmpty }
      if matching.count == 1 { return [] }
      let reasons = all.flatMap { violations(value, $0, at: place) }
      return ["\(place): \(matching.count) of \(all.count) forms match: \(reasons.joined(separator: "; "))"]
    }
    if let types = schema["type"], !types.names.contains(where: value.isA) {
      return ["\(place): \(value.kind) instead of \(types.names.joined(separator: " or "))"]
    }
    if let values = schema["enum"]?.elements, !values.contains(where: value.equals) {
      return ["\(place): \(value) is none of \(values.map(\.text).joined(separator: ", "))"]
    }
    switch value {
    case .object(let fields): return self.fields(fields, schema, at: place)
    case .array(let elements): return self.elements(elements, schema, at: place)
    case .string(let text): return self.text(text, schema, at: place)
    case .integer(let number): return range(Int(number), schema, "minimum", "maximum", at: place)
    case .null, .bool, .number: return []
    }
  }

  private func fields(_ fields: [String: JSONValue], _ schema: JSONLiteral, at place: String) -> [String] {
    guard let properties = schema["properties"] else { return [] }
    let required = schema["required"]?.elements.map(\.plain) ?? []
    var found = required.filter { fields[$0] == nil }.map { "\(place): \($0) is missing" }
    for (name, value) in fields {
      guard let property = properties[name] else {
        found.append("\(place): \(name) is not in the document")
        continue
      }
      if acceptsNull, case .null = value, !required.contains(name) { continue }
      found += violations(value, property, at: "\(place).\(name)")
    }
    return found
  }

  private func elements(_ elements: [JSONValue], _ schema: JSONLiteral, at place: String) -> [String] {
    let found = range(elements.count, schema, "minItems", "maxItems", at: place)
    guard let form = schema["items"] else { return found }
    return found + elements.enumerated().flatMap { violations($0.element, form, at: "\(place)[\($0.offset)]") }
  }

  private func text(_ text: String, _ schema: JSONLiteral, at place: String) -> [String] {
    var found = range(text.unicodeScalars.count, schema, "minLength", "maxLength", at: place)
    // A long text takes a regular expression seconds.
    if let pattern = schema["pattern"]?.plain, text.utf8.count <= 4096, !Self.matches(text, pattern) {
      found.append("\(place): '\(text)' does not match \(pattern)")
    }
    let isWellFormed =
      switch schema["format"]?.plain {
      case "date-time": Self.isTime(text)
      case "date": text.utf8.count == 10 && Self.isTime("\(text)T00:00:00Z")
      case "uuid": UUID(uuidString: text) != nil && text == text.lowercased()
      default: true
      }
    if !isWellFormed { found.append("\(place): '\(text)' is no \(schema["format"]?.plain ?? "")") }
    return found
  }

  private func range(
    _ number: Int, _ schema: JSONLiteral, _ least: String, _ most: String, at place: String
  ) -> [String] {
    var found: [String] = []
    if case .integer(let limit) = schema[least], number < limit { found.append("\(place): \(number) < \(limit)") }
    if case .integer(let limit) = schema[most], number > limit { found.append("\(place): \(number) > \(limit)") }
    return found
  }

  private static func matches(_ text: String, _ pattern: String) -> Bool {
    do { return try Regex(pattern).firstMatch(in: text) != nil } catch { return false }
  }

  private static func isTime(_ text: String) -> Bool {
    [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)].contains { style in
      do {
        _ = try style.parse(text)
        return true
      } catch {
        return false
      }
    }
  }

  /// The part of the document that a reference names.
  static func resolve(_ reference: String) -> JSONLiteral? {
    guard reference.hasPrefix("#/") else { return nil }
    var value: JSONLiteral? = OpenAPIDocument.value
    for name in reference.dropFirst(2).split(separator: "/") { value = value?[String(name)] }
    return value
  }
}

extension JSONLiteral {
  var elements: [JSONLiteral] {
    if case .array(let elements) = self { elements } else { [] }
  }

  /// One name, or a list of names.
  var names: [String] {
    if case .array(let elements) = self { elements.map(\.plain) } else { [plain] }
  }
}

extension JSONValue {
  init(bytes: [UInt8]) throws { self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) }

  var kind: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .integer: "integer"
    case .number: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  func isA(_ type: String) -> Bool { kind == type || (kind == "integer" && type == "number") }

  func equals(_ literal: JSONLiteral) -> Bool {
    switch (self, literal) {
    case (.null, .null): true
    case (.bool(let one), .bool(let other)): one == other
    case (.integer(let one), .integer(let other)): Int(one) == other
    case (.string(let one), .string(let other)): one == other
    default: false
    }
  }
}
