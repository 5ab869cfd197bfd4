import CurlClient
import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Locking
import Reactor
import TestSupport
import Testing

@testable import Social

/// An app with webhooks, whose attempts follow one another without pauses.
struct WebhookStage: Sendable {
  static let secrets = WebhookSecrets(secret: "a key of the tests, 32 characters or more")
  static let secret = WebhookSecret()

  let app: App
  let sender: WebhookSender
  /// The current time for deliveries.
  let time: Locked<Date>
  let alarms: Locked<[WebhookAlarmMessage]>

  static func run(
    allowsPrivate: Bool = true, _ body: @Sendable (WebhookStage) async throws -> Void
  ) async throws {
    try await App.run { app in
      let loop = EventLoop(name: "webhook-test")
      var configuration = WebhookSender.configuration(allowsPrivate: allowsPrivate)
      // Longer than any test: none of them waits for a limit.
      configuration.connectTimeout = .seconds(50)
      configuration.timeout = .seconds(50)
      configuration.stallTimeout = .seconds(50)
      let client = try HTTPClient(configuration: configuration, loop: loop, logger: logger)
      let time = Locked(Date())
      let alarms = Locked<[WebhookAlarmMessage]>([])
      let sender = WebhookSender(
        client: client, secrets: secrets, allowsPrivate: allowsPrivate, concurrency: 8,
        pauses: RetryPolicy(maxAttempts: 1000, base: .milliseconds(1), cap: .milliseconds(1)),
        alarm: { message in alarms.withLock { $0.append(message) } }, now: { time.withLock { $0 } })
      let outcome: Result<Void, any Error>
      do {
        outcome = .success(try await body(WebhookStage(app: app, sender: sender, time: time, alarms: alarms)))
      } catch {
        outcome = .failure(error)
      }
      await client.close()
      loop.stop()
      try outcome.get()
    }
  }

  func hook(_ url: String, _ events: WebhookEventType..., former: WebhookSecret? = nil) async throws -> Int {
    let names = events.map(\.rawValue)
    return try await app.pool.transaction { transaction in
      let id = try await transaction.query("SELECT nextval(pg_get_serial_sequence('webhooks', 'id'))")[0]
        .decode(Int.self)
      let old = try former.map { try Self.secrets.seal($0, of: id) }
      try await transaction.execute(
        """
        INSERT INTO webhooks (id, url, events, secret, former_secret, former_until) OVERRIDING SYSTEM VALUE
        VALUES (\(id), \(url), \(names), \(try Self.secrets.seal(Self.secret, of: id)), \(old),
          CASE WHEN \(old != nil) THEN now() + interval '1 day' END)
        """)
      return id
    }
  }

  /// Runs the app's jobs while `body` runs.
  func working(_ body: @Sendable () async throws -> Void) async throws {
    try await app.working(webhooks: sender, body)
  }

  func edit(_ post: Int, _ title: String, by author: Int) async throws {
    let changes = try PostChanges(title: title)
    try await app.pool.transaction { try await Posts.edit(post, changes, by: author, in: $0) }
  }

  func state(of hook: Int) async throws -> String {
    try await app.pool.query("SELECT state FROM webhooks WHERE id = \(hook)")[0].decode(String.self)
  }

  func count(_ state: String, for hook: Int) async throws -> Int {
    try await app.count(
      "SELECT count(*) FROM webhook_deliveries WHERE hook_id = \(hook) AND state = \(state)")
  }

  /// What an operator does with `fanmill webhooks resume`.
  func resume(_ hook: Int) async throws {
    try await app.client.transaction { transaction in
      try await transaction.sql.pipeline([
        """
        UPDATE webhooks SET state = 'active', reason = NULL, failures = 0, failing_since = NULL WHERE id = \(hook)
        """,
        "UPDATE webhook_lines SET job_id = NULL, failing_since = NULL WHERE hook_id = \(hook) AND job_id IS NOT NULL",
        "UPDATE webhook_deliveries SET failing_since = NULL WHERE hook_id = \(hook) AND state = 'waiting'",
      ])
      try await WebhookLines.admit(hook, in: transaction)
    }
  }
}
