import Foundation

/// A record of an export, with its place.
struct ImportedRecord: Sendable {
  let kind: FirebaseKind
  let file: String
  /// Of its first byte, from 1.
  let line: Int
  let path: [String]
  /// Its JSON; nil if it was too large to be kept.
  let bytes: [UInt8]?

  /// The text that names it in messages: `posts/p1`.
  var place: String { path.joined(separator: "/") }
}

/// The reason that a record is not imported.
struct RecordProblem: Error, CustomStringConvertible {
  let description: String
}

/// A record's fields by our names.
struct RecordFields: Sendable {
  private let value: JSONDatum
  private let names: [String: String]
  private let fields: [String: [String]]

  /// - Throws: a problem with the record as a whole.
  init(_ record: ImportedRecord, _ mapping: FirebaseMapping) throws(RecordProblem) {
    guard let bytes = record.bytes else {
      throw RecordProblem(description: "has more than \(JSONStream.maxBytes) bytes")
    }
    do throws(JSONDatum.Malformed) {
      value = try JSONDatum(bytes)
    } catch {
      throw RecordProblem(description: error.description)
    }
    guard let names = mapping.names(in: record.path, of: record.kind) else {
      throw RecordProblem(description: "is at a place that the mapping does not have")
    }
    self.names = names
    fields = mapping.fields(of: record.kind)
  }

  /// - Throws: unless the record is an object.
  func checkObject() throws(RecordProblem) {
    guard case .object = value else { throw RecordProblem(description: "is not an object of fields") }
  }

  /// The record's value, or the part of its path with this name.
  private func find(_ field: String) -> JSONDatum? {
    for name in fields[field] ?? [] {
      if let found = value.member(at: name) { return found }
    }
    return names[field].map { .string($0) }
  }

  private func names(of field: String) -> String {
    let known = fields[field] ?? []
    return known.isEmpty ? field : known.joined(separator: " or ")
  }

  /// A text that the record must have.
  func text(_ field: String) throws(RecordProblem) -> String {
    guard let text = try optionalText(field), !text.isEmpty else {
      throw RecordProblem(description: "lacks \(names(of: field))")
    }
    return text
  }

  func optionalText(_ field: String) throws(RecordProblem) -> String? {
    guard let found = find(field) else { return nil }
    guard let text = found.text else { throw RecordProblem(description: "\(names(of: field)) is not a text") }
    return text
  }

  /// The id of another record: a key of Firebase.
  func key(_ field: String) throws(RecordProblem) -> String {
    let key = try text(field)
    guard key.utf8.count <= 768, !key.utf8.contains(0) else {
      throw RecordProblem(description: "\(names(of: field)) is longer than a key of Firebase")
    }
    return key
  }

  /// - Returns: nil for a missing time. A time in the future is the current one.
  func optionalDate(_ field: String, now: Date) throws(RecordProblem) -> Date? {
    guard let found = find(field) else { return nil }
    guard let date = found.date else {
      throw RecordProblem(
        description: "\(names(of: field)) is not a time: a timestamp, ISO 8601, or a number since 1970")
    }
    return min(date, now)
  }

  func date(_ field: String, now: Date) throws(RecordProblem) -> Date {
    guard let date = try optionalDate(field, now: now) else {
      throw RecordProblem(description: "lacks \(names(of: field))")
    }
    return date
  }

  func optionalFlag(_ field: String) throws(RecordProblem) -> Bool? {
    guard let found = find(field) else { return nil }
    guard let flag = found.flag else { throw RecordProblem(description: "\(names(of: field)) is not true or false") }
    return flag
  }

  func optionalInteger(_ field: String) throws(RecordProblem) -> Int? {
    guard let found = find(field) else { return nil }
    guard let number = found.integer else {
      throw RecordProblem(description: "\(names(of: field)) is not a whole number")
    }
    return number
  }

  /// The texts of a field that holds one or several; of an object, its `url` or `path`, or the values of its numbers.
  func texts(_ field: String) throws(RecordProblem) -> [String] {
    guard let found = find(field) else { return [] }
    return try texts(in: found, field, depth: 0)
  }

  private func texts(in value: JSONDatum, _ field: String, depth: Int) throws(RecordProblem) -> [String] {
    switch value {
    case .null: return []
    case .string(let text): return text.isEmpty ? [] : [text]
    case .array(let elements) where depth == 0:
      var texts: [String] = []
      for element in elements { texts += try self.texts(in: element, field, depth: 1) }
      return texts
    case .object(let members):
      if let text = (value["path"] ?? value["url"])?.text { return text.isEmpty ? [] : [text] }
      // A list in the Realtime Database.
      if depth == 0, members.keys.allSatisfy({ Int($0) != nil }) {
        var texts: [String] = []
        for member in members.sorted(by: { (Int($0.key) ?? 0) < (Int($1.key) ?? 0) }) {
          texts += try self.texts(in: member.value, field, depth: 1)
        }
        return texts
      }
      throw RecordProblem(description: "\(names(of: field)) has neither a path nor a url")
    default: throw RecordProblem(description: "\(names(of: field)) is not a string or a list of strings")
    }
  }
}
