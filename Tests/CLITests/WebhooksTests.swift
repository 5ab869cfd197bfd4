import DurableJobsAdmin
import Foundation
import LibPQClient
import ProgramTestSupport
import Social
import SocialAdmin
import TestSupport
import Testing

@Suite("fanmill webhooks", .timeLimit(.minutes(5)))
struct WebhooksTests {
  private static let key = "a key of the tests, 32 characters or more"

  private func program(_ stack: TestStack, isPrivate: Bool = true) -> CLI {
    var settings = stack.settings
    settings["FANMILL_CERTIFICATE_KEY"] = Self.key
    if isPrivate { settings["FANMILL_WEBHOOKS_PRIVATE"] = "on" }
    return CLI(settings)
  }

  @Test("A webhook is added, tested, paused, resumed, rotated, replayed and deleted")
  func life() async throws {
    let receiver = try WebhookReceiver()
    defer { receiver.stop() }
    try await TestStack.with { stack in
      let cli = program(stack)
      #expect(try await cli("webhooks", "list").output.contains("there are no webhooks"))
      let added = try await cli(
        "webhooks", "add", receiver.url + "?key=hidden", "--events", "post.created, *", "--json"
      )
      .fields()
      let secret = try #require((added["secret"] as? String).flatMap { WebhookSecret($0) })
      let list = try await cli("webhooks", "list")
      #expect(list.output.contains("active") && !list.output.contains("hidden"))
      var settings = cli.settings
      settings["FANMILL_WORKER_PORT"] = "0"
      settings["FANMILL_QUEUES"] = "webhooks"
      let worker = try BuiltProgram("fanmill-worker").start([], environment: settings)
      #expect(try await cli("webhooks", "test", "1").output.contains("evt_1"))
      try await eventually("it arrives") { receiver.arrivals.count == 1 }
      let first = try #require(receiver.arrivals.first)
      #expect(first.type == "webhook.test" && first.id == "evt_1")
      #expect(secret.isValid(first.signature, id: first.id, timestamp: first.timestamp, body: first.body))
      try await eventually("it is recorded") {
        try await cli("webhooks", "deliveries", "1", "--state", "delivered").output.contains("webhook.test")
      }
      #expect(try await cli("webhooks", "replay", "1", "--event", "evt_1").output.contains("1 event is sent again"))
      try await eventually("it arrives again") { receiver.arrivals.count == 2 }
      #expect(receiver.arrivals.map(\.id) == ["evt_1", "evt_1"])
      try await eventually("it is done") {
        try await stack.count("SELECT count(*) FROM webhook_deliveries WHERE state = 'delivered'") == 1
      }
      let rotated = try await cli("webhooks", "rotate", "1", "--json").fields()
      let fresh = try #require((rotated["secret"] as? String).flatMap { WebhookSecret($0) })
      #expect(fresh.text != secret.text)
      try await cli("webhooks", "test", "1")
      try await eventually("the second arrives") { receiver.arrivals.count == 3 }
      let second = try #require(receiver.arrivals.last)
      for known in [secret, fresh] {
        #expect(known.isValid(second.signature, id: second.id, timestamp: second.timestamp, body: second.body))
      }
      #expect(try await cli("webhooks", "pause", "1").output.contains("is paused"))
      #expect(try await cli("webhooks", "pause", "1", status: 1).errors.contains("is paused already"))
      #expect(try await cli("webhooks", "test", "1", status: 1).errors.contains("resume 1"))
      #expect(try await cli("webhooks", "resume", "1").output.contains("is active"))
      #expect(try await cli("webhooks", "show", "1").output.contains("former secret"))
      try await eventually("the second is done") {
        try await stack.count("SELECT count(*) FROM webhook_deliveries WHERE state = 'delivered'") == 2
      }
      #expect(try await cli("webhooks", "replay", "1", "--since", "1h").output.contains("2 events"))
      try await cli("webhooks", "delete", "1", status: 64)
      #expect(try await cli("webhooks", "delete", "1", "--yes").output.contains("deleted webhook 1"))
      #expect(try await stack.count("SELECT count(*) FROM webhook_deliveries") == 0)
      worker.send(SIGTERM)
      _ = await worker.outcome()
      let actions = try await stack.pool.query("SELECT action FROM actions WHERE action LIKE 'webhooks.%'")
        .decode(String.self)
      #expect(Set(actions).count == 7, "\(actions)")
      #expect(try await stack.count("SELECT count(*) FROM actions WHERE detail::text LIKE '%hidden%'") == 0)
    }
  }

  @Test("What cannot be is refused with what would be right")
  func mistakes() async throws {
    try await TestStack.with { stack in
      let cli = program(stack, isPrivate: false)
      func add(_ url: String, _ events: String = "post.created", status: Int32 = 1) async throws -> String {
        try await cli("webhooks", "add", url, "--events", events, status: status).errors
      }
      #expect(try await add("http://hooks.example.org/").contains("FANMILL_WEBHOOKS_PRIVATE=on"))
      #expect(try await add("https://169.254.169.254/").contains("private or reserved"))
      #expect(try await add("https://hooks.example.org/", "post.made").contains("post.created"))
      #expect(try await add("nonsense").contains("https://hooks.example.org"))
      #expect(try await cli("webhooks", "show", "7", status: 1).errors.contains("there is no webhook 7"))
      #expect(try await cli("webhooks", "deliveries", "7", status: 1).errors.contains("there is no webhook 7"))
      try await cli("webhooks", "replay", "7", status: 64)
      try await cli("webhooks", "replay", "7", "--failed", "--event", "evt_1", status: 64)
      #expect(try await cli("webhooks", "replay", "7", "--event", "x", status: 64).errors.contains("evt_12"))
      let without = try await CLI(stack)(
        "webhooks", "add", "https://hooks.example.org/", "--events", "*", status: 78)
      #expect(without.errors.contains("FANMILL_CERTIFICATE_KEY"))
    }
  }

  @Test("A large replay is done in parts, and takes each event once")
  func largeReplay() async throws {
    try await TestStack.with { stack in
      let admin = WebhookAdmin(stack.database)
      let hook = try await admin.add(
        "https://hooks.example.org/", events: ["*"], allowsPrivate: false, secrets: WebhookSecrets(secret: Self.key),
        by: .terminal
      ).webhook.id
      try await stack.pool.execute(
        """
        WITH made AS (
          INSERT INTO webhook_events (type, subject, data, is_dispatched)
          SELECT 'post.created', 'post/' || n % 4, '{}', true FROM generate_series(1, 7) n RETURNING id, subject
        )
        INSERT INTO webhook_deliveries (hook_id, event_id, subject, state, ended_at)
        SELECT \(hook), id, subject, 'delivered', now() FROM made
        """)
      let replayed = try await admin.replay(
        hook, .since(Date().addingTimeInterval(-3600)), batch: 3, by: .terminal, through: stack.client)
      #expect(replayed == 7)
      #expect(try await stack.count("SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'") == 7)
      #expect(
        try await stack.pool.query("SELECT first_event FROM webhook_lines ORDER BY first_event").decode(Int.self)
          == [1, 2, 3, 4])
      #expect(try await stack.count("SELECT count(*) FROM webhook_lines WHERE job_id IS NOT NULL") == 4)
      #expect(try await stack.count("SELECT count(*) FROM actions WHERE action = 'webhooks.replay'") == 1)
    }
  }

  @Test("Who may only look changes no webhook")
  func readOnly() async throws {
    try await TestStack.with { stack in
      let admin = WebhookAdmin(stack.database)
      let secrets = WebhookSecrets(secret: Self.key)
      let reader = Operator(name: "reader", role: .readOnly)
      let url = "https://hooks.example.org/"
      let hook = try await admin.add(url, events: ["*"], allowsPrivate: false, secrets: secrets, by: .terminal).webhook
      func isForbidden(_ body: () async throws -> Void) async -> Bool {
        do {
          try await body()
          return false
        } catch let error as OperationError {
          return error.code == .forbidden
        } catch {
          return false
        }
      }
      let client = stack.client
      #expect(
        await isForbidden {
          _ = try await admin.add(url, events: ["*"], allowsPrivate: false, secrets: secrets, by: reader)
        })
      #expect(await isForbidden { _ = try await admin.rotate(hook.id, secrets: secrets, by: reader) })
      #expect(await isForbidden { _ = try await admin.pause(hook.id, by: reader) })
      #expect(await isForbidden { _ = try await admin.resume(hook.id, by: reader, through: client) })
      #expect(await isForbidden { _ = try await admin.delete(hook.id, by: reader) })
      #expect(await isForbidden { _ = try await admin.replay(hook.id, .failed, by: reader, through: client) })
      #expect(await isForbidden { _ = try await admin.test(hook.id, by: reader, through: client) })
      #expect(try await admin.list() == [hook])
      #expect(try await stack.count("SELECT count(*) FROM actions WHERE action LIKE 'webhooks.%'") == 1)
    }
  }
}
