import Foundation
import HTTPTypes
import Logging
import Reactor
import TestSupport
import Testing

@testable import CurlClient

/// Runs `body` with its own client, whose limits no slow machine reaches; a test of a limit sets it.
func withClient(
  _ configure: (inout HTTPClientConfiguration) -> Void = { _ in }, _ body: (HTTPClient) async throws -> Void
) async throws {
  var configuration = HTTPClientConfiguration()
  configuration.connectTimeout = .seconds(60)
  configuration.timeout = .seconds(60)
  configuration.stallTimeout = .seconds(60)
  configure(&configuration)
  let loop = EventLoop(name: "http-test")
  let client = try HTTPClient(configuration: configuration, loop: loop, logger: .quiet)
  let outcome: Result<Void, any Error>
  do { outcome = .success(try await body(client)) } catch { outcome = .failure(error) }
  await client.close()
  loop.stop()
  try outcome.get()
}

/// Strings that must never appear in an error.
let secrets = ["QUERY-SECRET", "FIELD-SECRET", "BODY-SECRET"]

func get(_ path: String = "/", port: Int, scheme: String = "http", host: String = "127.0.0.1") -> HTTPRequest {
  HTTPRequest(method: .get, scheme: scheme, authority: "\(host):\(port)", path: path)
}

extension HTTPClient {
  /// The error of a request that carries secrets, none of which may be in it.
  func failure(_ request: HTTPRequest, body: [UInt8] = []) async -> HTTPClientError? {
    var request = request
    request.path = request.path.map { $0 + ($0.contains("?") ? "&" : "?") + "key=QUERY-SECRET" }
    request.headerFields[.authorization] = "Bearer FIELD-SECRET"
    do throws(HTTPClientError) {
      _ = try await send(request, body: body)
      return nil
    } catch {
      for secret in secrets { #expect(!"\(error)".contains(secret) && !String(reflecting: error).contains(secret)) }
      #expect(!"\(error)".contains("key="))
      return error
    }
  }
}
