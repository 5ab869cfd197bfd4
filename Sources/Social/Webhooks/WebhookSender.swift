import CurlClient
import DurableJobs
import Foundation
import HTTPTypes
import Logging

/// Sends events to hooks' receivers, on behalf of jobs.
public struct WebhookSender: Sendable {
  /// Delivers an alarm about a hook that was paused; nil only logs it.
  public typealias Alarm = @Sendable (WebhookAlarmMessage) async throws -> Void

  let secrets: WebhookSecrets
  let alarm: Alarm?
  private let client: HTTPClient
  private let allowsPrivate: Bool
  /// The current time; a test sets its own.
  let now: @Sendable () -> Date
  /// The pauses between attempts at one event.
  let pauses: RetryPolicy
  private let failing: FailingPlaces

  /// How long a hook, or one of its events, may fail.
  static let patience: TimeInterval = 86_400

  /// 5 seconds at most after the first attempt, up to 10 minutes after the eighth.
  public static let usualPauses = RetryPolicy(maxAttempts: 65_535, base: .seconds(5), cap: .seconds(600))

  /// - Parameters:
  ///   - client: with `configuration(allowsPrivate:)`.
  ///   - allowsPrivate: whether receivers may have private addresses, and `http` URLs.
  ///   - concurrency: how many deliveries the worker makes at once. Failing receivers get half of these places.
  public init(
    client: HTTPClient, secrets: WebhookSecrets, allowsPrivate: Bool, concurrency: Int,
    pauses: RetryPolicy = usualPauses, alarm: Alarm? = nil, now: @escaping @Sendable () -> Date = { JobClock.now }
  ) {
    self.client = client
    self.secrets = secrets
    self.allowsPrivate = allowsPrivate
    self.pauses = pauses
    failing = FailingPlaces(of: concurrency)
    self.alarm = alarm
    self.now = now
  }

  /// The configuration for the client. Redirects are not followed, and each connection's address is checked.
  public static func configuration(allowsPrivate: Bool) -> HTTPClientConfiguration {
    var configuration = HTTPClientConfiguration()
    configuration.connectTimeout = .seconds(5)
    configuration.timeout = .seconds(10)
    configuration.stallTimeout = .seconds(10)
    configuration.maximumHeadBytes = 16 << 10
    configuration.maximumBodyBytes = 1024
    configuration.cutsBodies = true
    configuration.maximumRedirects = 0
    configuration.connectionsPerHost = 16
    configuration.userAgent = "fanmill-webhooks"
    if !allowsPrivate { configuration.allowsAddress = { WebhookAddresses.isPublic($0) } }
    return configuration
  }

  /// Sends an event once.
  ///
  /// - Throws: `JobSnooze` if the hook fails and its turn is later; `CancellationError`; `SealedOtherwise` if no secret
  ///   can be opened.
  func send(_ event: WaitingEvent) async throws -> WebhookAttempt {
    guard event.isHookFailing else { return try await post(event) }
    guard failing.take() else {
      var random = SystemRandomNumberGenerator()
      throw JobSnooze(for: pauses.delay(afterAttempt: 1, using: &random))
    }
    defer { failing.giveBack() }
    return try await post(event)
  }

  private func post(_ event: WaitingEvent) async throws -> WebhookAttempt {
    let keys = event.secrets.compactMap { secrets.open($0, of: event.hook) }
    if keys.isEmpty { throw SealedOtherwise(hook: event.hook) }
    let start = ContinuousClock.now
    func attempt(_ status: Int?, _ text: String) -> WebhookAttempt {
      let took = (ContinuousClock.now - start) / .milliseconds(1)
      return WebhookAttempt(status: status, text: text, milliseconds: Int(took.rounded()))
    }
    let url: WebhookURL
    do throws(SocialError) {
      url = try WebhookURL(event.url, allowsPrivate: allowsPrivate)
    } catch {
      return attempt(nil, error.message)
    }
    let timestamp = Int(now().timeIntervalSince1970)
    var request = HTTPRequest(
      method: .post, scheme: url.scheme, authority: url.authority, path: url.path,
      headerFields: [.contentType: "application/json", .accept: "*/*"])
    request.headerFields[Self.id] = event.id
    request.headerFields[Self.timestamp] = String(timestamp)
    request.headerFields[Self.signature] = keys.map {
      $0.signature(id: event.id, timestamp: timestamp, body: event.body)
    }.joined(separator: " ")
    do throws(HTTPClientError) {
      let (response, body) = try await client.send(request, body: event.body)
      return attempt(response.status.code, String(decoding: body, as: UTF8.self))
    } catch {
      if error.code == .cancelled { throw CancellationError() }
      return attempt(nil, error.message)
    }
  }

  private static let id = name("webhook-id")
  private static let timestamp = name("webhook-timestamp")
  private static let signature = name("webhook-signature")

  private static func name(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a token by RFC 9110") }
    return name
  }

  /// The secret was sealed with another key.
  struct SealedOtherwise: Error, CustomStringConvertible {
    let hook: Int
    var description: String {
      """
      the secret of webhook \(hook) was sealed with another FANMILL_CERTIFICATE_KEY: set that key, or create a new \
      secret with `fanmill webhooks rotate \(hook)`
      """
    }
  }
}

/// What came of sending an event once.
struct WebhookAttempt: Sendable, Hashable {
  /// nil if there was no response.
  let status: Int?
  /// The start of the response's body, or why there was no response.
  let text: String
  let milliseconds: Int

  init(status: Int?, text: String, milliseconds: Int) {
    self.status = status
    // Postgres stores no zero bytes.
    var kept = ""
    for scalar in text.unicodeScalars.lazy.filter({ $0.value != 0 }).prefix(1024) { kept.unicodeScalars.append(scalar) }
    self.text = kept
    self.milliseconds = milliseconds
  }

  enum Outcome: String, Sendable {
    case delivered
    case refused
    /// The receiver wants no more events.
    case disabled
  }

  var outcome: Outcome {
    guard let status else { return .refused }
    if 200..<300 ~= status { return .delivered }
    return status == 410 ? .disabled : .refused
  }
}
