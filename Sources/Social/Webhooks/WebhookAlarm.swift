import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Sends an alarm about a hook that was paused because it failed for a day. Retried for a day itself.
public struct WebhookAlarm: Job {
  public static let kind: JobKind = "webhooks.alarm"
  public static let queue = SocialJobs.webhookQueue
  public static let retry = RetryPolicy(maxAttempts: 150, base: .seconds(5), cap: .seconds(1200))
  public static let timeout: Duration? = .seconds(60)

  public var hook: Int

  public init(hook: Int) { self.hook = hook }

  func run(_ sender: WebhookSender?, _ context: JobContext<PostgresLedger>) async throws {
    guard let sender else { throw NoWebhookSender() }
    guard let deliver = sender.alarm else { return }
    let rows = try await context.ledger.database.pool.query(
      "SELECT url, changed_at FROM webhooks WHERE id = \(hook) AND state = 'paused'"
    ).decode(String.self, Date.self)
    // An operator was faster.
    guard let (url, pausedAt) = rows.first else { return }
    try await deliver(
      WebhookAlarmMessage(id: context.id.description, hook: hook, url: WebhookURL.masked(url), pausedAt: pausedAt))
  }
}

/// An alarm about a hook, in the form of the queue's alarms:
///
///     {"id", "event": "opened", "queue": "webhooks", "what": "paused", "webhook", "openedAt", "text"}
public struct WebhookAlarmMessage: Sendable, Hashable {
  public let id: String
  public let hook: Int
  /// Without its query, which may contain a key.
  public let url: String
  public let pausedAt: Date

  private struct Form: Encodable {
    let id: String
    let event = "opened"
    let queue = "webhooks"
    let what = "paused"
    let webhook: Int
    let openedAt: String
    let text: String
  }

  /// The message as one JSON object.
  public func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return Array(
      try encoder.encode(
        Form(
          id: id, webhook: hook, openedAt: pausedAt.formatted(style),
          text: """
            webhook \(hook) is paused: no delivery to \(url) succeeded for a day; `fanmill webhooks resume \(hook)` \
            continues where it stopped
            """)))
  }
}

extension WebhookURL {
  /// A URL without its query, for display.
  public static func masked(_ url: String) -> String {
    guard let mark = url.firstIndex(of: "?") else { return url }
    return url[..<mark] + "?…"
  }
}
