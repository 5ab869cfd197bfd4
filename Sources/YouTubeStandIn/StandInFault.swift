import Foundation

/// A fault that the stand-in produces on request: by `fault:NAME` in a query, or through its control route.
public enum StandInFault: String, Sendable, CaseIterable {
  // The key's budget.
  case quotaExceeded, dailyLimitExceeded, perDayLimit, perMinuteLimit
  // The service is failing.
  case backendError, serviceUnavailable, internalErrorPage
  // The key is refused.
  case keyInvalid, apiKeyInvalid, badRequest, accessNotConfigured, forbidden, serviceBlocked
  // The request is invalid.
  case invalidParameter, notFound
  // The response is broken.
  case notJSON, cutOffJSON, cutOff, drop, tooLarge
  // The response is slow: a minute, or the requested number of seconds; `trickle` sends it byte by byte.
  case slow, trickle

  /// The fault that a text requests, if any.
  init?(in text: String) {
    guard let mark = text.range(of: "fault:") else { return nil }
    self.init(rawValue: String(text[mark.upperBound...].prefix { $0.isLetter }))
  }
}

/// An error in one of the real service's forms.
struct StandInError: Error {
  let status: Int
  private let message: String
  private let domain: String
  private let reason: String
  /// The newer form: a canonical status, and details of the type `google.rpc.ErrorInfo`.
  private var canonical: String?
  private var info: (reason: String, metadata: [(String, String)])?

  private init(
    _ status: Int, _ domain: String, _ reason: String, _ message: String, canonical: String? = nil,
    info: (reason: String, metadata: [(String, String)])? = nil
  ) {
    (self.status, self.domain, self.reason, self.message) = (status, domain, reason, message)
    (self.canonical, self.info) = (canonical, info)
  }

  var bytes: [UInt8] {
    let error = JSONText.object([
      ("message", .text(message)), ("domain", .text(domain)), ("reason", .text(reason)),
    ])
    var fields: [(String, JSONText)] = [
      ("code", .number(status)), ("message", .text(message)), ("errors", .array([error])),
    ]
    if let canonical { fields.append(("status", .text(canonical))) }
    if let info {
      let metadata = info.metadata + [("service", "youtube.googleapis.com"), ("consumer", "projects/123456789012")]
      let help = JSONText.object([
        ("@type", .text("type.googleapis.com/google.rpc.Help")),
        ("links", .array([.object([("description", .text("Help")), ("url", .text("https://example.org/help"))])])),
      ])
      let detail = JSONText.object([
        ("@type", .text("type.googleapis.com/google.rpc.ErrorInfo")), ("reason", .text(info.reason)),
        ("domain", .text("googleapis.com")),
        ("metadata", .object(metadata.map { ($0.0, .text($0.1)) })),
      ])
      fields.append(("details", .array([help, detail])))
    }
    return JSONText.object([("error", .object(fields))]).bytes
  }

  private static let exceeded =
    "The request cannot be completed because you have exceeded your <a href=\"/youtube/v3/getting-started#quota\">quota</a>."

  static let unregistered = StandInError(
    403, "global", "forbidden",
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other "
      + "form of API consumer identity to call this API.", canonical: "PERMISSION_DENIED")

  static func missingParameter(_ names: String) -> StandInError {
    StandInError(
      400, "youtube.parameter", "missingRequiredParameter",
      "No filter selected. Expected one of: <code>\(names)</code>", canonical: "INVALID_ARGUMENT")
  }

  static func invalid(_ reason: String, _ message: String) -> StandInError {
    StandInError(400, "youtube.parameter", reason, message, canonical: "INVALID_ARGUMENT")
  }

  /// A rate limit, in the newer form.
  static func limit(_ metric: String, per period: String, value: Int) -> StandInError {
    let name = metric.filter { $0 != " " }
    return StandInError(
      429, "global", "rateLimitExceeded",
      "Quota exceeded for quota metric '\(metric)' and limit '\(metric) per \(period)' of service "
        + "'youtube.googleapis.com' for consumer 'project_number:123456789012'.", canonical: "RESOURCE_EXHAUSTED",
      info: (
        "RATE_LIMIT_EXCEEDED",
        [
          ("quota_metric", "youtube.googleapis.com/\(name.lowercased())"),
          ("quota_limit", "\(name)Per\(period == "day" ? "Day" : "Minute")PerProject"),
          ("quota_limit_value", String(value)), ("quota_location", "global"),
          ("quota_unit", "1/\(period == "day" ? "d" : "min")/{project}"),
        ]
      ))
  }

  /// nil for a fault that is not an error of the service.
  init?(_ fault: StandInFault) {
    switch fault {
    case .quotaExceeded: self.init(403, "youtube.quota", "quotaExceeded", Self.exceeded)
    case .dailyLimitExceeded:
      self.init(
        403, "usageLimits", "dailyLimitExceeded",
        "Daily Limit Exceeded. The quota will be reset at midnight Pacific Time (PT). You may monitor your quota usage "
          + "and adjust limits in the API Console: https://console.developers.google.com/apis/api/youtube/quotas")
    case .perDayLimit: self = .limit("Search Queries", per: "day", value: 100)
    case .perMinuteLimit: self = .limit("Queries", per: "minute", value: 1800)
    case .backendError: self.init(500, "global", "backendError", "Backend Error", canonical: "INTERNAL")
    case .serviceUnavailable:
      self.init(
        503, "global", "backendError", "The service is currently unavailable.", canonical: "UNAVAILABLE")
    case .keyInvalid: self.init(400, "usageLimits", "keyInvalid", "Bad Request")
    case .apiKeyInvalid:
      self.init(
        400, "global", "badRequest", "API key not valid. Please pass a valid API key.", canonical: "INVALID_ARGUMENT",
        info: ("API_KEY_INVALID", []))
    case .badRequest: self.init(400, "global", "badRequest", "Bad <b>Request</b>", canonical: "INVALID_ARGUMENT")
    case .accessNotConfigured:
      self.init(
        403, "usageLimits", "accessNotConfigured",
        "YouTube Data API v3 has not been used in project 123456789012 before or it is disabled.",
        canonical: "PERMISSION_DENIED", info: ("SERVICE_DISABLED", []))
    case .forbidden:
      self.init(403, "global", "forbidden", "Access <i>forbidden</i>.", canonical: "PERMISSION_DENIED")
    case .serviceBlocked:
      self.init(
        403, "global", "forbidden",
        "Requests to this API youtube method youtube.api.v3.V3DataSearchService.List are blocked.",
        canonical: "PERMISSION_DENIED", info: ("API_KEY_SERVICE_BLOCKED", []))
    case .invalidParameter:
      self = .invalid("invalidSearchFilter", "The request contains an <b>invalid</b> combination of search filters.")
    case .notFound:
      self.init(
        404, "youtube.channel", "channelNotFound", "The <code>channel</code> cannot be found.", canonical: "NOT_FOUND")
    default: return nil
    }
  }
}
