import DurableJobsAdmin
import Foundation
import LibPQClient
import ProgramTestSupport
import Social
import SocialAdmin
import Testing

@testable import DurableJobsDashboard
@testable import SocialDashboard

@Suite("The webhooks' pages", .timeLimit(.minutes(2)))
struct WebhookPageTests {
  private func addHook(_ stage: Stage) async throws -> String {
    let added = try await WebhookAdmin(stage.stack.database).add(
      "https://hooks.example.org/in?key=concealed", events: ["post.created"], allowsPrivate: false,
      secrets: WebhookSecrets(secret: "a key of the tests, 32 characters or more"), by: .terminal)
    try await stage.stack.pool.execute(
      """
      WITH event AS (
        INSERT INTO webhook_events (type, subject, data, is_dispatched) VALUES ('post.created', 'post/12', '{}', true)
        RETURNING id
      )
      INSERT INTO webhook_deliveries (hook_id, event_id, subject, state, attempts, ended_at, status, answer)
      SELECT 1, id, 'post/12', 'failed', 3, now(), 500, 'an <i>error</i>' FROM event
      """)
    return added.secret
  }

  @Test("A webhook is looked at, paused, resumed and replayed")
  func operate() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      #expect(try await one.get("/admin/webhooks").contains("There are no webhooks."))
      let secret = try await addHook(stage)
      let list = try await one.get("/admin/webhooks")
      #expect(list.contains("hooks.example.org") && list.contains("active") && !list.contains("concealed"))
      let page = try await one.get("/admin/webhooks/1")
      #expect(page.contains("an &lt;i&gt;error") && page.contains("evt_1") && page.contains("webhooks/1/pause"))
      #expect(!page.contains(secret) && !page.contains("concealed"))
      #expect(try await one.get("/admin/webhooks/9").status == 404)
      #expect(try await one.get("/admin/webhooks/x").status == 404)
      #expect(try await !one.get("/admin/webhooks/1?state=delivered").contains("evt_1"))
      #expect(try await one.post("/admin/webhooks/1/pause", []).location == "/admin/webhooks/1")
      #expect(try await one.post("/admin/webhooks/1/pause", []).status == 409)
      #expect(try await one.post("/admin/webhooks/1/test", []).status == 409)
      #expect(try await one.get("/admin/webhooks/1").contains("Resume"))
      #expect(try await one.post("/admin/webhooks/1/resume", []).location == "/admin/webhooks/1")
      let replay = "/admin/webhooks/1/replay"
      #expect(try await one.post(replay, [("what", "evt_1")]).contains("Send events again?"))
      #expect(try await one.post(replay, [("what", "evt_1")], confirmed: true).location == "/admin/webhooks/1")
      #expect(try await stage.count("SELECT count(*) FROM webhook_deliveries WHERE state = 'waiting'") == 1)
      #expect(try await stage.count("SELECT count(*) FROM jobs WHERE kind = 'webhooks.deliver'") == 1)
      #expect(try await one.post(replay, [("what", "evt_1")], confirmed: true).status == 409)
      #expect(try await one.post(replay, [("what", "evt_99")], confirmed: true).status == 404)
      #expect(try await one.post(replay, [("what", "nonsense")], confirmed: true).status == 422)
    }
  }

  @Test("Who may only look changes no webhook, and is offered nothing")
  func readOnly() async throws {
    try await Stage.with { stage in
      _ = try await addHook(stage)
      let reader = try await stage.signIn(Stage.readToken)
      let page = try await reader.get("/admin/webhooks/1")
      #expect(page.status == 200 && !page.contains("webhooks/1/pause") && !page.contains("webhooks/1/replay"))
      for action in ["pause", "resume", "test"] {
        #expect(try await reader.post("/admin/webhooks/1/\(action)", []).status == 403)
      }
      #expect(
        try await reader.post("/admin/webhooks/1/replay", [("what", "failed")], confirmed: true).status == 403)
      #expect(try await stage.count("SELECT count(*) FROM webhooks WHERE state = 'active'") == 1)
      #expect(try await stage.count("SELECT count(*) FROM webhook_deliveries WHERE state = 'failed'") == 1)
    }
  }
}
