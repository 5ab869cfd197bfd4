#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import HTTPTypes
import Hummingbird
import LibPQClient
import Logging
import Social

/// An error as sent to the client: `application/problem+json` (RFC 9457) with a stable code for programs.
struct Problem: Error, Encodable {
  let type = "about:blank"
  let title: String
  let status: Int
  /// Stable: programs compare it.
  let code: String
  /// The cause and the remedy, for people.
  let detail: String
  let field: String?
  /// The current username of an account that was requested by a former one.
  var username: String?
  /// Seconds after which a retry makes sense; sent as `Retry-After`.
  var retryAfter: Int?
  /// Additional response headers.
  var headers: HTTPFields = [:]

  private enum CodingKeys: CodingKey { case type, title, status, code, detail, field, username }

  init(_ status: HTTPResponse.Status, _ code: String, _ detail: String, field: String? = nil, retryAfter: Int? = nil) {
    title = status.reasonPhrase
    self.status = status.code
    self.code = code
    self.detail = detail
    self.field = field
    self.retryAfter = retryAfter
  }

  /// The problem that describes an error to the client; nil for an error that is the server's fault.
  init?(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as SocialError:
      self.init(
        Self.status(of: error.code), error.code.rawValue, error.message, field: error.field,
        retryAfter: error.retryAfter ?? (error.code == .busy ? 2 : nil))
    case let error as PostgresError:
      guard let problem = Self.shortage(error) else { return nil }
      self = problem
    case let error as BrokerError where [.unavailable, .full].contains(error.code):
      self.init(
        .serviceUnavailable, "unavailable",
        "the broker cannot answer now: try again in a few seconds, with the same Idempotency-Key", retryAfter: 2)
    case let error as any HTTPResponseError: self.init(httpStatus: error.status)
    default: return nil
    }
  }

  /// A database failure that is temporary; nil for one that a retry does not cure.
  private static func shortage(_ error: PostgresError) -> Problem? {
    if error.sqlState == "53100" {
      return Problem(
        .serviceUnavailable, "storage_full",
        """
        the database is full; reading still works: try again later, with \
        the same Idempotency-Key
        """,
        retryAfter: 30)
    }
    // 25006: a standby refused a write; the primary is being replaced. Class 53: the server is out of memory,
    // connections or another resource. 57P03: the server is starting or shutting down.
    let isPassing =
      [.connection, .poolExhausted, .timeout, .outcomeUnknown].contains(error.code)
      || error.sqlState.map { $0 == "25006" || $0 == "57P03" || $0.hasPrefix("53") } ?? false
    guard isPassing else { return nil }
    return Problem(
      .serviceUnavailable, "unavailable",
      "the database cannot answer now: try again in a few seconds, with the same Idempotency-Key", retryAfter: 2)
  }

  static let internalError = Problem(
    .internalServerError, "internal",
    "internal error; the server's log has the reason under the trace id in this response's traceparent")

  /// Redirects to the same path under the account's current username.
  init(_ moved: AccountMoved, of request: Request) {
    // On a 301, a client may turn any method into GET.
    let status: HTTPResponse.Status = [.get, .head].contains(request.method) ? .movedPermanently : .permanentRedirect
    self.init(status, "moved", "\(moved): use that name")
    username = moved.to
    var parts = request.uri.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    // Of the characters allowed in a username, only '+' may appear percent-encoded.
    if let place = parts.lastIndex(where: { $0.lowercased().replacing("%2b", with: "+") == moved.from.lowercased() }) {
      parts[place] = moved.to
    }
    let path = parts.joined(separator: "/")
    headers[.location] = request.uri.query.map { "\(path)?\($0)" } ?? path
  }

  private init(httpStatus status: HTTPResponse.Status) {
    switch status {
    case .notFound: self.init(status, "not_found", "there is nothing at this path")
    case .contentTooLarge: self.init(status, "body_too_large", "a body may have at most 1 MiB")
    case .badRequest: self.init(status, "malformed_request", "the request is not well-formed")
    default: self.init(status, "http_\(status.code)", status.reasonPhrase)
    }
  }

  private static func status(of code: SocialError.Code) -> HTTPResponse.Status {
    switch code {
    case .notFound, .celebNotRegistered, .wrongCode: .notFound
    case .usernameTaken, .emailTaken, .cannotFollowYourself, .cannotMessageYourself, .cannotBlockYourself,
      .cannotReportYourself, .cannotMeetYourself, .noPassword, .noEmail, .celebLimit, .celebRegistered, .receiptTaken,
      .mediaInUse,
      .mediaQuota, .meetingEnded, .meetingNotOpened, .messageDiffers, .sealsDiffer, .tooManyAgreements:
      .conflict
    case .heartTooSoon, .tooManyAttempts, .tooManyMessages, .tooManyStreams, .tooManyUsernames, .tooManyReports:
      .tooManyRequests
    case .notYours, .forgedNotice, .forgedSeal, .wrongPassword, .wrongPasscode, .adultStatementNeeded,
      .emailNotConfirmed, .accountSuspended:
      .forbidden
    case .wrongCredentials, .notSignedIn, .uploadExpired: .unauthorized
    case .busy, .agreementsOff, .certificatesOff, .purchasesOff, .mailNotConfigured: .serviceUnavailable
    case .resetExpired, .confirmationExpired, .mediaGone, .certificateRevoked, .backupDestroyed: .gone
    default: .unprocessableContent
    }
  }

  func response() throws -> Response {
    var headers: HTTPFields = [.contentType: "application/problem+json", .cacheControl: "no-store"]
    headers.append(contentsOf: self.headers)
    if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    if status == 401 { headers[.wwwAuthenticate] = "Bearer" }
    return Response(
      status: HTTPResponse.Status(code: status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(self))))
  }
}

/// Turns every error into a problem response. Server faults are logged, and the client gets no details.
struct ProblemMiddleware: RouterMiddleware {
  let cookie: SessionCookie

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch {
      if let moved = error as? AccountMoved { return try Problem(moved, of: request).response() }
      guard let problem = Problem(error) else {
        context.logger.error(
          "request failed",
          metadata: [
            "method": "\(request.method)", "path": "\(LoggedPath.shown(request.uri.path))", "error": "\(error)",
          ])
        return try Problem.internalError.response()
      }
      if problem.status >= 500 {
        context.logger.warning(
          "cannot serve a request now",
          metadata: ["path": "\(LoggedPath.shown(request.uri.path))", "error": "\(error)"])
      }
      var response = try problem.response()
      // The session is over: the browser need not send its token again. Routes for operators, which read no sessions,
      // refuse with the same code, and the session goes on.
      if (error as? SocialError)?.code == .notSignedIn, cookie.token(of: request) != nil {
        response.headers.append(cookie.forget)
      }
      return response
    }
  }
}
