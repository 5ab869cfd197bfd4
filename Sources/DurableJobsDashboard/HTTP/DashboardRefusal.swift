import DurableJobs
import DurableJobsAdmin
import HiredisClient
import HTTPTypes
import Hummingbird
import LibPQClient

/// A refused request, shown as a page. The access closure and an app's pages throw it.
public struct DashboardRefusal: Error, Sendable {
  public let status: HTTPResponse.Status
  public let title: String
  /// The problem and the remedy.
  public let message: String
  /// The seconds after which a retry makes sense.
  public let retryAfter: Int?
  /// A line to copy below the message, such as a setting; nil for none.
  public let example: String?
  /// Whether the page links back, which it does not if the visitor would be refused there again.
  var leadsBack = true

  public init(
    _ status: HTTPResponse.Status, _ title: String, _ message: String, example: String? = nil, retryAfter: Int? = nil
  ) {
    self.status = status
    self.title = title
    self.message = message
    self.example = example
    self.retryAfter = retryAfter
  }

  /// The refusal that an error means for the visitor; nil for a fault of the program.
  init?(_ error: any Error, terms: DoctorTerms = DoctorTerms()) {
    switch error {
    case let refusal as DashboardRefusal: self = refusal
    case let error as OperationError: self.init(error)
    case let error as PostgresError:
      guard [.connection, .poolExhausted, .timeout, .outcomeUnknown].contains(error.code) else { return nil }
      self.init(
        .serviceUnavailable, "Postgres does not answer",
        "Nothing can be shown without it. `\(terms.command) doctor` says what is wrong; "
          + "this page works again once Postgres does.",
        retryAfter: 2)
    case is RedisError: self.init(redis: ())
    case let error as BrokerError where error.code == .unavailable: self.init(redis: ())
    case let error as any HTTPResponseError: self.init(httpStatus: error.status)
    default: return nil
    }
  }

  static let internalError = DashboardRefusal(
    .internalServerError, "Internal error", "The server's log has the reason, under this request's id.")

  private init(_ error: OperationError) {
    switch error.code {
    case .notFound: self.init(.notFound, "Not found", error.message)
    case .conflict: self.init(.conflict, "Nothing was changed", error.message)
    case .forbidden: self.init(.forbidden, "Read-only access", error.message)
    case .usage, .data: self.init(.unprocessableContent, "Not possible", error.message)
    default: self.init(.internalServerError, "The action failed", error.message)
    }
  }

  private init(redis: Void) {
    self.init(
      .serviceUnavailable, "Redis does not answer",
      "The broker's state cannot be shown or changed now. No job is lost: all of them are in the ledger.", retryAfter: 2
    )
  }

  private init(httpStatus status: HTTPResponse.Status) {
    switch status {
    case .notFound: self.init(status, "Not found", "There is no page at this address.")
    case .contentTooLarge: self.init(status, "Too large", "A form may have at most 1 MiB.")
    default: self.init(status, status.reasonPhrase, "The request is not one that this page sends.")
    }
  }
}
