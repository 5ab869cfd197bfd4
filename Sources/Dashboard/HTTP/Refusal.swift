import DurableJobs
import DurableJobsAdmin
import HiredisClient
import HTTPTypes
import Hummingbird
import LibPQClient
import Social

/// Why a request is not served, as a page tells it.
struct Refusal: Error, Sendable {
  let status: HTTPResponse.Status
  let title: String
  /// What is wrong and what would be right.
  let message: String
  /// Seconds after which trying again makes sense.
  let retryAfter: Int?

  init(_ status: HTTPResponse.Status, _ title: String, _ message: String, retryAfter: Int? = nil) {
    self.status = status
    self.title = title
    self.message = message
    self.retryAfter = retryAfter
  }

  /// What an error is to the operator; nil for one that is the program's own fault.
  init?(_ error: any Error) {
    switch error {
    case let refusal as Refusal: self = refusal
    case let error as OperationError: self.init(error)
    case let error as SocialError where error.code == .tooManyAttempts:
      let message = error.message.prefix(1).uppercased() + error.message.dropFirst() + "."
      self.init(.tooManyRequests, "Too many attempts", message, retryAfter: error.retryAfter)
    case let error as SocialError:
      let status: HTTPResponse.Status = error.code == .notFound ? .notFound : .unprocessableContent
      self.init(status, "That is not possible", error.message)
    case let error as PostgresError:
      guard [.connection, .poolExhausted, .timeout, .outcomeUnknown].contains(error.code) else { return nil }
      self.init(
        .serviceUnavailable, "Postgres does not answer",
        "Nothing can be shown without it. `fanmill doctor` says what is wrong; this page works again when it does.",
        retryAfter: 2)
    case is RedisError: self.init(redis: ())
    case let error as BrokerError where error.code == .unavailable: self.init(redis: ())
    case let error as any HTTPResponseError: self.init(httpStatus: error.status)
    default: return nil
    }
  }

  static let internalError = Refusal(
    .internalServerError, "The server failed", "Its log has the reason, under this request's id.")

  private init(_ error: OperationError) {
    switch error.code {
    case .notFound: self.init(.notFound, "Not found", error.message)
    case .conflict: self.init(.conflict, "Nothing was changed", error.message)
    case .forbidden: self.init(.forbidden, "You may look, not act", error.message)
    case .usage, .data: self.init(.unprocessableContent, "That is not possible", error.message)
    default: self.init(.internalServerError, "It did not work", error.message)
    }
  }

  private init(redis: Void) {
    self.init(
      .serviceUnavailable, "Redis does not answer",
      "What the broker knows cannot be shown or changed now. No job is lost: the ledger owes them all.", retryAfter: 2)
  }

  private init(httpStatus status: HTTPResponse.Status) {
    switch status {
    case .notFound: self.init(status, "Not found", "There is no page at this address.")
    case .contentTooLarge: self.init(status, "Too much", "A form has at most 1 MiB.")
    default: self.init(status, status.reasonPhrase, "The request is not one that this page sends.")
    }
  }
}
