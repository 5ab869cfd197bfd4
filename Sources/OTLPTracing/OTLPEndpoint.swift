import CurlClient
import Foundation
import HTTPTypes
import Logging
import Reactor

/// A collector's traces endpoint.
public struct OTLPEndpoint: Sendable {
  let scheme: String
  let authority: String
  let path: String
  /// Basic authentication, from the URL's user.
  let authorization: String?

  /// - Parameter url: such as `http://collector:4318`, to which `/v1/traces` is added, or a full URL with a path;
  ///   `https://user:password@host` for basic authentication.
  /// - Returns: nil if it is not such a URL.
  public init?(url: String) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme, scheme == "https" || scheme == "http",
      let host = parts.host, !host.isEmpty
    else { return nil }
    self.scheme = scheme
    authority = parts.port.map { "\(host):\($0)" } ?? host
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    path = (["", "/"].contains(parts.percentEncodedPath) ? "/v1/traces" : parts.percentEncodedPath) + query
    authorization = parts.user.map { "Basic " + Data("\($0):\(parts.password ?? "")".utf8).base64EncodedString() }
  }
}

extension OTLPTracer {
  /// Runs `body` with a tracer that sends to a collector. The caller runs the tracer as a service, and bootstraps
  /// `InstrumentationSystem` with it.
  ///
  /// - Throws: any error of `body`; `HTTPClientError` if libcurl is unusable.
  public static func with<Result>(
    _ configuration: Configuration, sendingTo endpoint: OTLPEndpoint, logger: Logger,
    _ body: (OTLPTracer) async throws -> Result
  ) async throws -> Result {
    let loop = EventLoop(name: "otlp")
    defer { loop.stop() }
    var http = HTTPClientConfiguration()
    http.timeout = .seconds(5)
    http.connectionsPerHost = 1
    http.maximumRedirects = 0
    http.maximumBodyBytes = 64 << 10
    let client = try HTTPClient(configuration: http, loop: loop, logger: logger)
    let tracer = OTLPTracer(configuration, exporter: HTTPExporter(endpoint: endpoint, client: client), logger: logger)
    do {
      let result = try await body(tracer)
      await client.close()
      return result
    } catch {
      await client.close()
      throw error
    }
  }
}

/// Posts spans, and retries once if the collector is temporarily unavailable.
private struct HTTPExporter: SpanExporter {
  let endpoint: OTLPEndpoint
  let client: HTTPClient

  /// The collector answered with a status other than 2xx.
  struct Refused: Error, CustomStringConvertible {
    let status: Int
    var description: String { "it answered with \(status)" }
  }

  func export(_ body: [UInt8]) async throws {
    var request = HTTPRequest(
      method: .post, scheme: endpoint.scheme, authority: endpoint.authority, path: endpoint.path,
      headerFields: [.contentType: "application/json"])
    if let authorization = endpoint.authorization { request.headerFields[.authorization] = authorization }
    var status = try await client.send(request, body: body).0.status.code
    if [429, 502, 503, 504].contains(status) {
      try await Task.sleep(for: .seconds(1))
      status = try await client.send(request, body: body).0.status.code
    }
    guard 200..<300 ~= status else { throw Refused(status: status) }
  }
}
