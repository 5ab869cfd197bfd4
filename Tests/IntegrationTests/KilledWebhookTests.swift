import DurableJobs
import DurableJobsAdmin
import Foundation
import LibPQClient
import LocalStack
import ProgramTestSupport
import Social
import SocialAdmin
import TestSupport
import Testing

/// Workers that send webhooks are killed with -9 at arbitrary moments, while the receiver fails now and then.
@Suite("A worker killed while it sends webhooks", .timeLimit(.minutes(5)))
struct KilledWebhookTests {
  private static let key = "a key of the tests, 32 characters or more"

  @Test("Each event arrives, and no event before an earlier one of its subject was accepted")
  func order() async throws {
    var random = SeededGenerator("webhooks under kill -9")
    let pauses = (0..<8).map { _ in Int.random(in: 0...60, using: &random) }
    // Each third event fails at first.
    let receiver = try WebhookReceiver { arrival, before in
      before == 0 && (Int(arrival.id.dropFirst(4)) ?? 0) % 3 == 0 ? WebhookReceiver.failed : WebhookReceiver.accepted
    }
    defer { receiver.stop() }
    try await TestStack.with { stack in
      let author = try await stack.pool.query("INSERT INTO accounts (username) VALUES ('ann') RETURNING id")[0]
        .decode(Int.self)
      let added = try await WebhookAdmin(stack.database).add(
        receiver.url, events: ["post.created", "comment.created", "post.deleted"], allowsPrivate: true,
        secrets: WebhookSecrets(secret: Self.key), by: .terminal)
      let hook = added.webhook.id
      var posts: [Int] = []
      for number in 0..<12 {
        let draft = try PostDraft(title: "post \(number)")
        posts.append(try await stack.client.transaction { try await Posts.create(draft, by: author, in: $0).id })
      }
      for post in posts {
        for number in 0..<4 {
          let draft = try CommentDraft(text: "comment \(number)")
          _ = try await stack.client.transaction { try await Comments.create(draft, on: post, by: author, in: $0) }
        }
        try await stack.client.transaction { try await Posts.delete(post, by: author, in: $0) }
      }
      let all = 12 * 6
      var settings = stack.settings
      settings["FANMILL_WORKER_PORT"] = "0"
      settings["FANMILL_QUEUES"] = "webhooks:4"
      settings["FANMILL_CERTIFICATE_KEY"] = Self.key
      settings["FANMILL_WEBHOOKS_PRIVATE"] = "on"
      for pause in pauses {
        let before = receiver.arrivals.count
        let worker = try BuiltProgram("fanmill-worker").start([], environment: settings)
        try await eventually("it sends one") {
          let done = try await delivered(hook, stack)
          return receiver.arrivals.count > before || done == all
        }
        try await Task.sleep(for: .milliseconds(pause))
        worker.send(SIGKILL)
        _ = await worker.outcome()
      }
      let last = try BuiltProgram("fanmill-worker").start([], environment: settings)
      try await eventually("all are delivered", within: .seconds(180)) { try await delivered(hook, stack) == all }
      last.send(SIGTERM)
      _ = await last.outcome()
      let secret = try #require(WebhookSecret(added.secret))
      for post in posts {
        let arrivals = receiver.arrivals.filter { $0.subject == "post/\(post)" }
        let ids = arrivals.map { Int($0.id.dropFirst(4)) ?? 0 }
        #expect(Set(ids).count == 6)
        #expect(ids == ids.sorted(), "\(ids)")
        #expect(arrivals.first?.type == "post.created" && arrivals.last?.type == "post.deleted")
        #expect(
          arrivals.allSatisfy { secret.isValid($0.signature, id: $0.id, timestamp: $0.timestamp, body: $0.body) })
      }
      #expect(try await WebhookAudit.run(on: stack.pool).isClean)
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0)
    }
  }

  private func delivered(_ hook: Int, _ stack: TestStack) async throws -> Int {
    try await stack.count(
      "SELECT count(*) FROM webhook_deliveries WHERE hook_id = \(hook) AND state = 'delivered'")
  }
}
