import Foundation

/// An error response of the API, and its consequence. The error's reasons decide that, not its status alone.
struct YouTubeRefusal: Error, Sendable, CustomStringConvertible {
  enum Consequence: Sendable {
    /// The key's budget for the day is spent.
    case spent
    /// The key is refused, not the question.
    case keyRefused
    /// The call may succeed later.
    case later
    /// The call can never succeed.
    case final
  }

  let status: Int
  /// The API's reason, such as `quotaExceeded`; `http_STATUS` if it gave none.
  let reason: String
  /// The API's message, without HTML.
  let message: String
  let consequence: Consequence

  var description: String { message.isEmpty ? reason : "\(reason): \(message)" }

  init(_ response: YouTubeResponse) {
    status = response.status
    // An error page that is not JSON still counts as an error.
    let error = (try? JSONDecoder().decode(Document.self, from: Data(response.body)))?.error
    let reasons = (error?.errors ?? []).compactMap(\.reason) + (error?.details ?? []).compactMap(\.reason)
    reason = reasons.first ?? "http_\(response.status)"
    message = HTMLText.plain(error?.message ?? error?.errors?.first?.message ?? "")
    consequence = Self.consequence(
      of: response.status, reasons: Set(reasons), namesDay: error?.namesDay ?? false,
      namesKey: error?.namesKey ?? false)
  }

  private static let spentReasons: Set<String> = ["quotaExceeded", "dailyLimitExceeded", "dailyLimitExceededUnreg"]
  private static let rateReasons: Set<String> = [
    "rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "backendError",
  ]
  /// Reasons that name the key or its project. `badRequest` and `forbidden` are not among them: a question alone can
  /// cause them, and one question must not disable every key.
  private static let keyReasons: Set<String> = [
    "keyInvalid", "keyExpired", "API_KEY_INVALID", "API_KEY_EXPIRED", "accessNotConfigured", "ipRefererBlocked",
    "SERVICE_DISABLED", "CONSUMER_SUSPENDED", "CONSUMER_INVALID", "API_KEY_SERVICE_BLOCKED",
    "API_KEY_HTTP_REFERRER_BLOCKED", "API_KEY_IP_ADDRESS_BLOCKED",
  ]

  private static func consequence(
    of status: Int, reasons: Set<String>, namesDay: Bool, namesKey: Bool
  ) -> Consequence {
    switch status {
    case 403 where !reasons.isDisjoint(with: spentReasons): .spent
    case 429: namesDay || !reasons.isDisjoint(with: spentReasons) ? .spent : .later
    case 403 where !reasons.isDisjoint(with: rateReasons): namesDay ? .spent : .later
    case 500...: .later
    case 400, 401, 403: namesKey || !reasons.isDisjoint(with: keyReasons) ? .keyRefused : .final
    case 400..<500: .final
    // Neither an answer nor an error, such as a redirect.
    default: .later
    }
  }

  private struct Document: Decodable {
    var error: Body?
  }

  private struct Body: Decodable {
    struct Item: Decodable {
      var reason: String?
      var message: String?
    }
    struct Detail: Decodable {
      var reason: String?
      var metadata: [String: String]?
    }
    var message: String?
    var errors: [Item]?
    var details: [Detail]?

    private enum CodingKeys: CodingKey { case message, errors, details }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      // Each is parsed separately, so that an unknown form of detail cannot hide the reason.
      message = try? container.decodeIfPresent(String.self, forKey: .message)
      errors = try? container.decodeIfPresent([Item].self, forKey: .errors)
      details = try? container.decodeIfPresent([Detail].self, forKey: .details)
    }

    /// Whether a message is about the key: `API key not valid. …`, `The provided API key …`. Only the beginning counts,
    /// since the rest may repeat a user's text.
    var namesKey: Bool {
      let texts = ([message] + (errors ?? []).map(\.message)).compactMap { $0?.lowercased() }
      return texts.contains { text in ["api key ", "the provided api key "].contains { text.hasPrefix($0) } }
    }

    /// Whether the exceeded limit is a daily one: `Queries per day`, `DefaultRequestsPerDayPerProject`,
    /// `1/d/{project}`.
    var namesDay: Bool {
      let metadata = (details ?? []).flatMap { ($0.metadata ?? [:]).values }
      let texts = ([message] + (errors ?? []).map(\.message)).compactMap(\.self) + metadata
      return texts.contains { text in
        let text = text.lowercased().filter { !" _-".contains($0) }
        return text.contains("perday") || text.contains("1/d/") || text.contains("dailylimit")
      }
    }
  }
}
