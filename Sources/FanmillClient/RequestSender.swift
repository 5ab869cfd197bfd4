import Foundation

/// Sends requests with the session's token, follows redirects to renamed accounts, and retries.
struct RequestSender: Sendable {
  let url: URL
  var session: Session?
  let transport: any Transport
  let retries: RetryPolicy
  let userAgent: String
  let clock: any Clock<Duration>

  /// Without the session, for what needs none: the server refuses every request with a session that has ended.
  var signedOut: RequestSender { with(nil) }

  func with(_ session: Session?) -> RequestSender {
    var other = self
    other.session = session
    return other
  }

  // MARK: Requests

  /// Sends a request and decodes the body of the response.
  func value<Value: Decodable>(_ request: APIRequest, as type: Value.Type = Value.self) async throws -> Value {
    try Self.decode(try await send(request))
  }

  static func decode<Value: Decodable>(
    _ response: TransportResponse, as type: Value.Type = Value.self
  ) throws -> Value {
    do { return try APICoding.decoder.decode(Value.self, from: response.body) } catch {
      throw FanmillError.malformed(response, error)
    }
  }

  private struct Items<Item: Decodable>: Decodable { let items: [Item] }

  /// Sends a request for a list that has one page.
  func items<Item: Decodable>(_ request: APIRequest) async throws -> [Item] {
    try await value(request, as: Items<Item>.self).items
  }

  func pages<Element>(_ request: APIRequest, limit: Int?) -> Pages<Element> {
    Pages(sender: self, request: request, limit: limit)
  }

  @discardableResult
  func send(_ request: APIRequest) async throws -> TransportResponse {
    try await send(request) { try await transport.send($0) }
  }

  /// Sends a request to a route through `exchange`.
  @discardableResult
  func send(
    _ request: APIRequest, through exchange: @Sendable (TransportRequest) async throws -> TransportResponse
  ) async throws -> TransportResponse {
    var transported = try prepare(request)
    transported.body = try request.body()
    var repetition = request.repetition
    if repetition == .keyed {
      // One key for all attempts.
      transported.headers["Idempotency-Key"] = (request.key ?? UUID()).uuidString.lowercased()
      repetition = .safe
    }
    return try await send(transported, repetition: repetition, done: request.done) {
      try await follow($0, through: exchange)
    }
  }

  /// Fetches what is public, such as a picture, and follows redirects to any server. The request has no token.
  func fetch(_ request: TransportRequest) async throws -> TransportResponse {
    try await send(request, repetition: .safe) { request in
      var request = request
      for _ in 0..<Self.mostRedirects {
        let response = try await transport.send(request)
        guard (301...308).contains(response.status), let location = response.headers["location"],
          let target = URL(string: location, relativeTo: request.url)
        else { return response }
        request.url = target.absoluteURL
      }
      return try await transport.send(request)
    }
  }

  /// Sends a request, again after failures that another attempt can mend.
  ///
  /// - Throws: `FanmillError` for a response with a status of 300 or more.
  private func send(
    _ request: TransportRequest, repetition: APIRequest.Repetition, done: Set<FanmillError.Code> = [],
    _ exchange: @Sendable (TransportRequest) async throws -> TransportResponse
  ) async throws -> TransportResponse {
    var failures = 0
    // Whether an earlier attempt may have taken effect without its response.
    var isOutcomeUnknown = false
    while true {
      let failure: FanmillError
      do {
        let response = try await exchange(request)
        if response.status < 300 { return response }
        let error = FanmillError(response)
        if isOutcomeUnknown, done.contains(error.code) { return response }
        guard Self.isPassing(response, error.code),
          repetition == .safe || repetition == .refusedOnly && error.isOutright
        else {
          throw error
        }
        if !error.isOutright { isOutcomeUnknown = true }
        failure = error
      } catch let error as FanmillError where error.status != nil {
        throw error
      } catch {
        try Task.checkCancellation()
        if error is CancellationError { throw error }
        failure = FanmillError.network(error)
        guard repetition == .safe, Self.isPassing(failure) else { throw failure }
        isOutcomeUnknown = true
      }
      failures += 1
      guard let delay = retries.delay(after: failures, retryAfter: failure.retryAfter) else { throw failure }
      try await clock.sleep(for: delay)
    }
  }

  /// Whether the same request can succeed later.
  private static func isPassing(_ response: TransportResponse, _ code: FanmillError.Code) -> Bool {
    switch response.status {
    // A rule of the app, which shows a countdown, and no sign of load.
    case 429 where code == .heartTooSoon: false
    case 408, 429, 502, 504: true
    // A 503 with a problem and without `Retry-After` is a setting, such as `certificates_off`.
    case 503: response.retryAfter != nil || response.mediaType != "application/problem+json"
    default: false
    }
  }

  private static func isPassing(_ failure: FanmillError) -> Bool {
    guard let error = failure.underlying as? URLError else { return true }
    switch error.code {
    case .badURL, .unsupportedURL, .fileDoesNotExist, .noPermissionsToReadFile, .secureConnectionFailed,
      .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
      .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired:
      return false
    default: return true
    }
  }

  func prepare(_ request: APIRequest) throws -> TransportRequest {
    var headers = request.headers
    headers["User-Agent"] = userAgent
    headers["Accept"] = headers["Accept"] ?? "application/json"
    if request.method != .get, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
    if let session { headers["Authorization"] = "Bearer \(session.token)" }
    return TransportRequest(
      method: request.method.rawValue, url: try RequestTarget.url(url, ["v1"] + request.path, request.query),
      headers: headers, timeout: request.timeout)
  }

  // MARK: Redirects

  private static let mostRedirects = 5

  /// Follows redirects on the same server, which requests for a former username get.
  private func follow(
    _ request: TransportRequest, through exchange: @Sendable (TransportRequest) async throws -> TransportResponse
  ) async throws -> TransportResponse {
    var request = request
    for _ in 0..<Self.mostRedirects {
      let response = try await exchange(request)
      guard [301, 302, 307, 308].contains(response.status), let location = response.headers["location"],
        let target = RequestTarget.resolved(location, on: url, from: request.url),
        Self.areOneOrigin(target, request.url)
      else { return response }
      // A method other than GET survives only 307 and 308 (RFC 9110, 15.4).
      guard request.method == "GET" || [307, 308].contains(response.status) else { return response }
      request.url = target
    }
    return try await exchange(request)
  }

  /// Whether two addresses are on one server. The session's token is sent to no other.
  static func areOneOrigin(_ one: URL, _ other: URL) -> Bool {
    one.scheme == other.scheme && one.host == other.host && one.port == other.port
  }

  // MARK: Waiting

  /// Sends a request until its response is not 202.
  ///
  /// - Throws: `not_ready` after `limit`.
  func ready(
    within limit: Duration, _ attempt: @Sendable () async throws -> TransportResponse
  ) async throws -> TransportResponse {
    var waited = Duration.zero
    while true {
      let response = try await attempt()
      guard response.status == 202 else { return response }
      let delay = response.retryAfter ?? .seconds(1)
      waited += delay
      guard waited <= limit else { throw FanmillError(.notReady, "the server is not ready in time", status: 202) }
      try await clock.sleep(for: delay)
    }
  }
}

extension FanmillError {
  /// Whether the server refused the request before it began to work on it. After another 503 the request may have taken
  /// effect: the server lost its database while it waited for the commit.
  fileprivate var isOutright: Bool { status == 408 || status == 429 || code == .busy || code == .tooManyConnections }
}
