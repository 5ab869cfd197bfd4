import Foundation

/// A request to a route under `/v1`.
struct APIRequest: Sendable {
  enum Method: String, Sendable {
    case get = "GET"
    case put = "PUT"
    case post = "POST"
    case patch = "PATCH"
    case delete = "DELETE"
  }

  /// What may follow a failure whose outcome is unknown.
  enum Repetition: Sendable, Hashable {
    /// The request can be sent again with the same `Idempotency-Key`, which its route accepts.
    case keyed
    /// The request can be sent again as it is.
    case safe
    /// Only a response that refuses the request outright allows another attempt.
    case refusedOnly
    /// One attempt.
    case never
  }

  let method: Method
  /// The path under `/v1`, not yet percent-encoded.
  let path: [String]
  var query: [(name: String, value: String)]
  var repetition: Repetition
  /// The refusals that say, after an attempt with an unknown outcome, that it took effect.
  var done: Set<FanmillError.Code>
  var headers: [String: String] = [:]
  var timeout: Duration = .seconds(30)
  /// The `Idempotency-Key` of a request that is `keyed`; nil for a new one.
  var key: UUID?
  private let encode: (@Sendable () throws -> Data)?

  init(
    _ method: Method, _ path: [String], query: [(name: String, value: String?)] = [], repetition: Repetition? = nil
  ) {
    self.method = method
    self.path = path
    self.query = query.compactMap { pair in pair.value.map { (pair.name, $0) } }
    self.repetition = repetition ?? Self.usual(method)
    done = method == .delete ? [.notFound] : []
    encode = nil
  }

  init(_ method: Method, _ path: [String], body: some Encodable & Sendable, repetition: Repetition? = nil) {
    self.method = method
    self.path = path
    query = []
    self.repetition = repetition ?? Self.usual(method)
    done = method == .delete ? [.notFound] : []
    encode = { try APICoding.encoder.encode(body) }
  }

  private static func usual(_ method: Method) -> Repetition { method == .post ? .keyed : .safe }

  func keyed(_ key: UUID) -> APIRequest {
    var other = self
    other.key = key
    return other
  }

  func body() throws -> Data? {
    do { return try encode?() } catch {
      throw FanmillError(.malformedBody, "the request cannot be written as JSON", underlying: error)
    }
  }
}
