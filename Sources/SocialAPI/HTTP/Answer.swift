import HTTPTypes
import Hummingbird
import Social

/// An answer in JSON, before it is sent: kept with an Idempotency-Key, it can be sent again.
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

/// A value that may be missing and is written as `null` then: a field that is always there is easier to read for a
/// client.
struct Nullable<Value: Encodable & Sendable>: Encodable, Sendable {
  let value: Value?

  init(_ value: Value?) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}

/// A page of a list: the items and the cursor to go on with.
struct PageView<Item: Encodable & Sendable>: Encodable, Sendable {
  let items: [Item]
  let next: Nullable<Int>

  init<Source>(_ page: Page<Source>, _ view: (Source) -> Item) {
    items = page.items.map(view)
    next = Nullable(page.next)
  }
}

extension Request {
  /// The page that `?before=` and `&limit=` ask for.
  ///
  /// - Throws: `invalid_before`, `invalid_limit`.
  func page() throws -> PageRequest {
    let limit = try number("limit") ?? 20
    return try PageRequest(before: try number("before"), limit: limit)
  }

  /// What `?query=` searches for; nothing, where it is left out.
  var searchQuery: String { uri.queryParameters["query"].map(String.init) ?? "" }

  private func number(_ name: String) throws -> Int? {
    guard let text = uri.queryParameters[name[...]] else { return nil }
    guard let number = Int(text) else {
      throw SocialError(.invalid(name), "\(name) is a whole number", field: name)
    }
    return number
  }

  /// Whether `?NAME=true`; what `standard` says if it is not there.
  ///
  /// - Throws: `invalid_NAME` for another value than `true` or `false`.
  func flag(_ name: String, default standard: Bool = false) throws -> Bool {
    switch uri.queryParameters[name[...]] {
    case nil: return standard
    case "false": return false
    case "true": return true
    default: throw SocialError(.invalid(name), "\(name) is true or false", field: name)
    }
  }
}
