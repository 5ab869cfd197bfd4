import Foundation
import HTTPTypes
import Hummingbird
import Social

/// A JSON response before it is sent. Stored under an Idempotency-Key, it can be sent again.
struct Answer: ResponseGenerator, Sendable {
  var status: HTTPResponse.Status
  var body: [UInt8]
  /// Additional headers; they are not stored under an Idempotency-Key.
  var headers: HTTPFields = [:]

  init(_ status: HTTPResponse.Status = .ok, _ value: some Encodable) throws {
    self.status = status
    body = try JSONText.bytes(of: value)
  }

  init(status: HTTPResponse.Status, body: [UInt8]) {
    self.status = status
    self.body = body
  }

  static let noContent = Answer(status: .noContent, body: [])

  static func noContent(_ header: HTTPField) -> Answer {
    var answer = noContent
    answer.headers.append(header)
    return answer
  }

  func response(from request: Request, context: some RequestContext) -> Response {
    var headers: HTTPFields = [.cacheControl: "no-store"]
    headers.append(contentsOf: self.headers)
    guard !body.isEmpty else { return Response(status: status, headers: headers) }
    headers[.contentType] = "application/json; charset=utf-8"
    return Response(
      status: status, headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }
}

/// A value that is written as `null` when missing: clients read a field more easily if it is always present.
struct Nullable<Value: Encodable & Sendable>: Encodable, Sendable {
  let value: Value?

  init(_ value: Value?) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}

/// A page of a list: its items and the cursor of the next page.
struct PageView<Item: Encodable & Sendable>: Encodable, Sendable {
  let items: [Item]
  let next: Nullable<Int>

  init<Source>(_ page: Page<Source>, _ view: (Source) -> Item) {
    items = page.items.map(view)
    next = Nullable(page.next)
  }
}

extension PageView: JSONWritable where Item: JSONWritable {
  func write(to json: inout JSONBytes) {
    json.object { json in
      json.field("items", items)
      json.field("next", next.value)
    }
  }
}

extension Request {
  /// The page selected by `?before=` and `&limit=`.
  ///
  /// - Throws: `invalid_before`, `invalid_limit`.
  func page() throws -> PageRequest {
    let limit = try number("limit") ?? 20
    return try PageRequest(before: try number("before"), limit: limit)
  }

  /// The part of a short list that the query selects; all of it without `limit`. The cursor counts the items before.
  ///
  /// - Throws: `invalid_before`, `invalid_limit`.
  func part<Item>(of items: [Item]) throws -> Page<Item> {
    let limit = try number("limit")
    let page = try PageRequest(before: try number("before"), limit: limit ?? PageRequest.limits.upperBound)
    let rest = items.dropFirst(page.before ?? 0)
    let part = limit.map { rest.prefix($0) } ?? rest
    return Page(items: Array(part), next: part.endIndex < items.endIndex ? part.endIndex : nil)
  }

  /// The value of `?query=`; empty if missing.
  var searchQuery: String { formValue("query") ?? "" }

  /// A query value in form encoding, with `+` for a space. nil if it is missing or not UTF-8.
  func formValue(_ name: String) -> String? {
    for pair in (uri.query ?? "").split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == name else { continue }
      return parts[1].replacing("+", with: " ").removingPercentEncoding
    }
    return nil
  }

  private func number(_ name: String) throws -> Int? {
    guard let text = uri.queryParameters[name[...]] else { return nil }
    guard let number = Int(text) else {
      throw SocialError(.invalid(name), "\(name) must be a whole number", field: name)
    }
    return number
  }

  /// The value of `?NAME=`; `standard` if missing.
  ///
  /// - Throws: `invalid_NAME` for any value but `true` or `false`.
  func flag(_ name: String, default standard: Bool = false) throws -> Bool {
    switch uri.queryParameters[name[...]] {
    case nil: return standard
    case "false": return false
    case "true": return true
    default: throw SocialError(.invalid(name), "\(name) must be true or false", field: name)
    }
  }
}
