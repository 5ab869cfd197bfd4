import Foundation

/// The reason a call failed: the server's refusal, or a failure to reach it.
public struct FanmillError: Error, Sendable {
  public let code: Code
  /// What was wrong and what would be valid, for people.
  public let message: String
  /// The field of the request that is not valid, such as `email`; nil if no single field is.
  public let field: String?
  /// The HTTP status; nil if there was no response.
  public let status: Int?
  /// How long to wait before a retry can succeed; nil if the server named no time.
  public let retryAfter: Duration?
  /// The id under which the server's log has the request: the trace id of the response's `traceparent`.
  public let requestID: String?
  /// The transport's error; nil for a response.
  public let underlying: (any Error)?

  public init(
    _ code: Code, _ message: String, field: String? = nil, status: Int? = nil, retryAfter: Duration? = nil,
    requestID: String? = nil, underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.field = field
    self.status = status
    self.retryAfter = retryAfter
    self.requestID = requestID
    self.underlying = underlying
  }
}

extension FanmillError: LocalizedError, CustomStringConvertible {
  public var description: String { "\(code): \(message)" }
  public var errorDescription: String? { message }
}

extension FanmillError {
  /// A problem as the server sends it: `application/problem+json` (RFC 9457).
  private struct Problem: Decodable {
    var code: String
    var detail: String
    var field: String?
  }

  /// The error that a response with a status of 300 or more describes.
  init(_ response: TransportResponse) {
    // A proxy's body may be anything; the status then says what happened.
    let problem: Problem? =
      response.mediaType == "application/problem+json"
      ? try? APICoding.decoder.decode(Problem.self, from: response.body) : nil
    self.init(
      problem.map { Code(rawValue: $0.code) } ?? .http(response.status),
      problem?.detail ?? "the server answered with status \(response.status)", field: problem?.field,
      status: response.status, retryAfter: response.retryAfter, requestID: response.requestID)
  }

  /// A response of a shape that this client does not know.
  static func malformed(_ response: TransportResponse, _ error: any Error) -> FanmillError {
    FanmillError(
      .malformedResponse, "the server's response cannot be read", status: response.status,
      requestID: response.requestID, underlying: error)
  }

  /// A failure of the transport.
  static func network(_ error: any Error) -> FanmillError {
    guard let failure = error as? URLError else {
      return error as? FanmillError ?? FanmillError(.network, "the server cannot be reached", underlying: error)
    }
    // The error's userInfo has the URL, which can contain a token.
    let bare = URLError(failure.code)
    return FanmillError(
      failure.code == .timedOut ? .timedOut : .network,
      failure.code == .timedOut ? "the server did not answer in time" : "the server cannot be reached",
      underlying: bare)
  }
}
