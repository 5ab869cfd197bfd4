import Crypto
import CurlClient
import DurableJobs
import Foundation
import HTTPTypes

/// Where alarms are told: a POST of one JSON object for each message.
///
///     {"id", "event": "opened" or "closed", "queue", "what": "waiting" or "running", "limit", "seconds", "openedAt", "closedAt", "text"}
///
/// Limit and seconds are in seconds, times as ISO 8601 has them. `text` is a sentence for people, where chat services look for one.
/// `id` and `event` name the message: it may come twice where the answer to the first did not arrive. `traceparent` carries the
/// alarm's id as the trace, which its log lines have too. With a secret, `Fanmill-Signature: sha256=HEX` is the HMAC of the body.
public struct AlarmWebhook: Sendable {
  /// Sends a request and returns the status of its answer.
  public typealias Post = @Sendable (HTTPRequest, [UInt8]) async throws -> Int

  private let scheme: String
  private let authority: String
  private let path: String
  private let key: SymmetricKey?

  /// - Parameters:
  ///   - url: http or https.
  ///   - secret: signs the messages; nil for no signature.
  /// - Returns: nil for what is no such URL.
  public init?(url: String, secret: String? = nil) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme, scheme == "https" || scheme == "http",
      let host = parts.host, !host.isEmpty, parts.user == nil
    else { return nil }
    self.scheme = scheme
    authority = parts.port.map { "\(host):\($0)" } ?? host
    let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
    path = (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query
    key = secret.map { SymmetricKey(data: Array($0.utf8)) }
  }

  private struct Message: Encodable {
    var id: String
    var event: String
    var queue: String
    var what: String
    var limit: Double
    var seconds: Double
    var openedAt: String
    var closedAt: String?
    var text: String
  }

  /// The request that tells of an alarm, and its body.
  func message(_ alarm: Alarm) throws -> (HTTPRequest, [UInt8]) {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let body = Array(
      try encoder.encode(
        Message(
          id: alarm.id.description, event: alarm.closedAt == nil ? "opened" : "closed", queue: alarm.queue,
          what: alarm.concern.rawValue, limit: alarm.limit, seconds: alarm.seconds,
          openedAt: alarm.openedAt.formatted(style), closedAt: alarm.closedAt?.formatted(style), text: alarm.text)))
    var request = HTTPRequest(
      method: .post, scheme: scheme, authority: authority, path: path,
      headerFields: [.contentType: "application/json", .accept: "*/*"])
    if let trace = alarm.trace { request.headerFields[Self.traceparent] = TraceContext.begin(in: trace).traceparent }
    if let key {
      let digest = HMAC<SHA256>.authenticationCode(for: body, using: key)
      request.headerFields[Self.signature] =
        "sha256=" + digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    return (request, body)
  }

  private static let traceparent = name("traceparent")
  private static let signature = name("Fanmill-Signature")

  private static func name(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a token by RFC 9110") }
    return name
  }

  /// How the client should be configured: nobody waits for the answer, and it is not read.
  public static var configuration: HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.timeout = .seconds(10)
    configuration.stallTimeout = .seconds(5)
    configuration.maximumBodyBytes = 64 << 10
    configuration.maximumRedirects = 0
    return configuration
  }
}

extension Alarm {
  /// What its log lines and its messages are found by.
  public var trace: TraceID? { TraceID(high: id.high, low: id.low) }
}
