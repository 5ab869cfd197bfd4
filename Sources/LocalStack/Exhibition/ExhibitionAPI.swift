import CurlClient
import DurableJobsAdmin
import Foundation
import HTTPTypes
import Logging
import Reactor

/// The stack's API, as an app would use it, over connections that are kept.
struct ExhibitionAPI: Sendable {
  /// An account that is signed in.
  struct Caller: Sendable {
    let token: String
  }

  struct Answer: Sendable {
    let status: Int
    let body: [UInt8]

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try JSONDecoder().decode(type, from: Data(body))
    }
  }

  /// The most requests at once.
  static let width = 32

  private let client: HTTPClient
  private let authority: String

  /// Provides the API on a port of this machine to `body`.
  static func with<Result: Sendable>(
    port: Int, logger: Logger, _ body: (ExhibitionAPI) async throws -> Result
  ) async throws -> Result {
    let loop = EventLoop(name: "fanmill-demo")
    defer { loop.stop() }
    var configuration = HTTPClientConfiguration()
    configuration.connectionsPerHost = width
    configuration.maximumRedirects = 0
    // This machine only, so a proxy in the environment is not asked for it.
    configuration.allowsAddress = { $0 == [127, 0, 0, 1] }
    // Uploads wait for one another, and so may their answers.
    configuration.timeout = .seconds(120)
    configuration.stallTimeout = .seconds(120)
    let client = try HTTPClient(configuration: configuration, loop: loop, logger: logger)
    let api = ExhibitionAPI(client: client, authority: "127.0.0.1:\(port)")
    do {
      let result = try await body(api)
      await client.close()
      return result
    } catch {
      await client.close()
      throw error
    }
  }

  private init(client: HTTPClient, authority: String) {
    self.client = client
    self.authority = authority
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - path: below `/v1`, percent-encoded.
  ///   - caller: nil for a request without a session.
  ///   - key: the Idempotency-Key: a demo that was interrupted sends the same requests again.
  /// - Throws: `.failed` without a response, or for a status that is not in `statuses`.
  @discardableResult
  func send(
    _ method: HTTPRequest.Method, _ path: String, as caller: Caller?, key: String? = nil, body: [UInt8] = [],
    type: String = "application/json", expecting statuses: Int...
  ) async throws -> Answer {
    try await send(method, path, caller, key, body, type, statuses)
  }

  /// Overload for a body of JSON.
  @discardableResult
  func send(
    _ method: HTTPRequest.Method, _ path: String, as caller: Caller?, key: String? = nil, json: some Encodable,
    expecting statuses: Int...
  ) async throws -> Answer {
    try await send(method, path, caller, key, Array(try JSONEncoder().encode(json)), "application/json", statuses)
  }

  private func send(
    _ method: HTTPRequest.Method, _ path: String, _ caller: Caller?, _ key: String?, _ body: [UInt8], _ type: String,
    _ statuses: [Int]
  ) async throws -> Answer {
    var fields: HTTPFields = [:]
    if let caller { fields[.authorization] = "Bearer \(caller.token)" }
    if let key { fields[Self.idempotencyKey] = key }
    if !body.isEmpty { fields[.contentType] = type }
    let request = HTTPRequest(
      method: method, scheme: "http", authority: authority, path: "/v1/" + path, headerFields: fields)
    let answer: Answer
    do throws(HTTPClientError) {
      let (response, bytes) = try await client.send(request, body: body)
      answer = Answer(status: response.status.code, body: bytes)
    } catch {
      try Task.checkCancellation()
      throw OperationError(.failed, "the API did not answer \(method.rawValue) /v1/\(path): \(error)")
    }
    guard statuses.contains(answer.status) else {
      let text = String(decoding: answer.body.prefix(500), as: UTF8.self)
      throw OperationError(
        .failed, "the API answered \(method.rawValue) /v1/\(path) with \(answer.status): \(text)")
    }
    return answer
  }

  private static let idempotencyKey: HTTPField.Name = {
    guard let name = HTTPField.Name("Idempotency-Key") else { preconditionFailure("a token by RFC 9110") }
    return name
  }()
}

extension Collection where Self: Sendable, Element: Sendable {
  /// Runs `body` for each element, in their order, at most `limit` at once.
  func concurrently(
    atOnce limit: Int = ExhibitionAPI.width, _ body: @escaping @Sendable (Element) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, element) in self.enumerated() {
        if number >= limit { try await group.next() }
        group.addTask { try await body(element) }
      }
      try await group.waitForAll()
    }
  }
}
