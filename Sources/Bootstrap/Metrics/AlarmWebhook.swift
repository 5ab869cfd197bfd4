import Cryptography
import CurlClient
import DurableJobs
import DurableJobsAdmin
import Foundation
import HTTPTypes

/// Posts alarms to a URL as `AlarmMessage`'s JSON, with `traceparent`. With a secret, the header `Fanmill-Signature:
/// sha256=HEX` carries the HMAC of the body.
struct AlarmWebhook: Sendable {
  private let scheme: String
  private let authority: String
  private let path: String
  private let key: HMACSHA256?

  /// - Parameters:
  ///   - url: http or https.
  ///   - secret: signs the messages; nil for no signature.
  /// - Returns: nil for an invalid URL.
  init?(url: String, secret: String? = nil) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme, scheme == "https" || scheme == "http",
      let host = parts.host, !host.isEmpty, parts.user == nil
    else { return nil }
    self.scheme = scheme
    authority = parts.port.map { "\(host):\($0)" } ?? host
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    path = (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query
    key = secret.map { HMACSHA256(key: $0.utf8) }
  }

  /// The request for an alarm, and its body.
  func request(_ message: AlarmMessage) throws -> (HTTPRequest, [UInt8]) {
    let body = try message.json()
    var request = request(body)
    if let traceparent = message.traceparent { request.headerFields[Self.traceparent] = traceparent }
    return (request, body)
  }

  /// The request for a body, signed.
  func request(_ body: [UInt8]) -> HTTPRequest {
    var request = HTTPRequest(
      method: .post, scheme: scheme, authority: authority, path: path,
      headerFields: [.contentType: "application/json", .accept: "*/*"])
    if let key {
      request.headerFields[Self.signature] = "sha256=" + key.code(for: body).hexadecimal
    }
    return request
  }

  private static let traceparent = name("traceparent")
  private static let signature = name("Fanmill-Signature")

  private static func name(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a token by RFC 9110") }
    return name
  }

  /// Short limits: the response body is not read.
  static var configuration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.timeout = .seconds(10)
    configuration.stallTimeout = .seconds(5)
    configuration.maximumBodyBytes = 64 << 10
    configuration.maximumRedirects = 0
    return configuration
  }
}
