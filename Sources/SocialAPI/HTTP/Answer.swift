import HTTPTypes
import Hummingbird
import Social

/// A JSON response before it is sent. Stored under an Idempotency-Key, it can be sent again.
struct Answer: ResponseGenerator, Sendable {
  var status: HTTPResponse.Status
  var body: [UInt8]

  init(_ status: HTTPResponse.Status = .ok, _ value: some Encodable) throws {
    self.status = status
    body = try JSONText.bytes(of: value)
  }

  init(status: HTTPResponse.Status, body: [UInt8]) {
    self.status = status
    self.body = body
  }

  static let noContent = Answer(status: .noContent, body: [])

  func response(from request: Request, context: some RequestContext) -> Response {
    guard !body.isEmpty else { return Response(status: status, headers: [.cacheControl: "no-store"]) }
    return Response(
      status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
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

extension Request {
  /// The page selected by `?before=` and `&limit=`.
  ///
  /// - Throws: `invalid_before`, `invalid_limit`.
  func page() throws -> PageRequest {
    let limit = try number("limit") ?? 20
    return try PageRequest(before: try number("before"), limit: limit)
  }

  /// The value of `?query=`; empty if missing.
  var searchQuery: String { uri.queryParameters["query"].map(String.init) ?? "" }

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
