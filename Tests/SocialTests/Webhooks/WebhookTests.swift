import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

@Suite("Webhooks", .timeLimit(.minutes(3)))
struct WebhookTests {
  @Test("Without a hook, nothing is written")
  func nothing() async throws {
    try await WebhookStage.run { stage in
      let ids = try await stage.app.accounts(2)
      let post = try await stage.app.post(by: ids[0])
      try await stage.app.like(post, by: ids[1])
      try await stage.edit(post, "new", by: ids[0])
      try await stage.app.follow(ids[0], by: ids[1])
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 0)
      _ = try await stage.hook("http://127.0.0.1:1/", .followDeleted)
      try await stage.app.unlike(post, by: ids[1])
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 0)
      try await stage.app.unfollow(ids[0], by: ids[1])
      try await stage.app.unfollow(ids[0], by: ids[1])
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 1)
      #expect(try await stage.app.count("SELECT count(*) FROM jobs WHERE queue = 'webhooks'") == 1)
    }
  }

  @Test("What happens to a post arrives signed, in order, and without private data")
  func order() async throws {
    let receiver = try WebhookReceiver()
    defer { receiver.stop() }
    try await WebhookStage.run { stage in
      let former = WebhookSecret()
      _ = try await stage.hook(
        receiver.url, .postCreated, .postEdited, .postDeleted, .commentCreated, .commentDeleted, former: former)
      let author = try await stage.app.account("ann")
      try await stage.app.pool.execute("UPDATE accounts SET email = 'ann@example.org' WHERE id = \(author)")
      let post = try await stage.app.post("first", by: author)
      let comment = try await stage.app.comment(post, by: author, "well said")
      try await stage.edit(post, "second", by: author)
      try await stage.app.deleteComment(comment, on: post, by: author)
      try await stage.app.delete(post, by: author)
      try await stage.working {
        try await eventually("all arrive") { receiver.arrivals.count >= 5 }
      }
      let arrivals = receiver.arrivals
      #expect(
        arrivals.map(\.type) == [
          "post.created", "comment.created", "post.edited", "comment.deleted", "post.deleted",
        ])
      #expect(arrivals.allSatisfy { $0.subject == "post/\(post)" })
      for arrival in arrivals {
        for secret in [WebhookStage.secret, former] {
          #expect(
            secret.isValid(arrival.signature, id: arrival.id, timestamp: arrival.timestamp, body: arrival.body))
        }
        let text = String(decoding: arrival.body, as: UTF8.self)
        #expect(!text.contains("example.org"), "\(text)")
      }
      let texts = arrivals.map { String(decoding: $0.body, as: UTF8.self) }
      #expect(texts[0].contains(#""title": "first""#) && texts[0].contains(#""username": "ann""#))
      #expect(texts[1].contains("well said") && texts[2].contains(#""title": "second""#))
    }
  }

  @Test("A receiver that fails gets each event until it accepts it, and no later one of its subject before")
  func retries() async throws {
    let receiver = try WebhookReceiver { _, before in
      before < 2 ? WebhookReceiver.failed : WebhookReceiver.accepted
    }
    defer { receiver.stop() }
    try await WebhookStage.run { stage in
      let hook = try await stage.hook(receiver.url, .postCreated, .postEdited)
      let author = try await stage.app.account("ann")
      var posts: [Int] = []
      for number in 0..<6 { posts.append(try await stage.app.post("post \(number)", by: author)) }
      for post in posts {
        for number in 0..<3 { try await stage.edit(post, "edit \(number)", by: author) }
      }
      try await stage.working {
        try await eventually("all are delivered") { try await stage.count("delivered", for: hook) == 24 }
      }
      for post in posts {
        let ids = receiver.arrivals.filter { $0.subject == "post/\(post)" }.map(\.id)
        // Three times the first, then three times the second …
        #expect(ids.count == 12)
        #expect(ids == Set(ids).sorted { number($0) < number($1) }.flatMap { [$0, $0, $0] }, "\(ids)")
      }
      #expect(try await WebhookAudit.run(on: stage.app.pool).isClean)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_lines") == 0)
    }
  }

  private func number(_ id: String) -> Int { Int(id.dropFirst(4)) ?? 0 }

  /// Runs `body` with a receiver that never answers and one that does.
  private func besideSilence(
    _ body: @Sendable (_ stage: WebhookStage, _ silent: WebhookReceiver, _ well: WebhookReceiver) async throws -> Void
  ) async throws {
    let silent = try WebhookReceiver { _, _ in nil }
    let well = try WebhookReceiver()
    defer {
      silent.stop()
      well.stop()
    }
    try await WebhookStage.run { stage in try await body(stage, silent, well) }
  }

  @Test("A receiver that never answers holds up neither another hook nor other jobs")
  func silence() async throws {
    try await besideSilence { stage, silent, well in
      let first = try await stage.hook(silent.url, .postCreated)
      let second = try await stage.hook(well.url, .postCreated)
      let author = try await stage.app.account("ann")
      for number in 0..<30 { try await stage.app.post("post \(number)", by: author) }
      try await stage.working {
        try await eventually("the other gets all") { try await stage.count("delivered", for: second) == 30 }
        try await eventually("other jobs are done") {
          try await stage.app.count("SELECT count(*) FROM jobs WHERE queue <> 'webhooks'") == 0
        }
        // Meanwhile nothing of the first is done, and it has no more than four jobs.
        #expect(try await stage.count("waiting", for: first) == 30)
        try await eventually("it has four requests open") { silent.arrivals.count == 4 }
        #expect(
          try await stage.app.count(
            "SELECT count(*) FROM webhook_lines WHERE hook_id = \(first) AND job_id IS NOT NULL") == 4)
      }
    }
  }

  @Test("Receivers that never answer, however many, leave places for those that do")
  func manySilences() async throws {
    try await besideSilence { stage, silent, well in
      for _ in 0..<12 { _ = try await stage.hook(silent.url, .postCreated) }
      try await stage.app.pool.execute("UPDATE webhooks SET failures = 1, failing_since = now()")
      let author = try await stage.app.account("ann")
      for number in 0..<4 { try await stage.app.post("post \(number)", by: author) }
      try await stage.working {
        // Of eight places, four.
        try await eventually("they hold all places that they may") { silent.arrivals.count == 4 }
        let other = try await stage.hook(well.url, .postCreated)
        for number in 4..<12 { try await stage.app.post("post \(number)", by: author) }
        try await eventually("the other gets all") { try await stage.count("delivered", for: other) == 8 }
        #expect(silent.arrivals.count == 4)
        // What had no place made no attempt.
        #expect(
          try await stage.app.count("SELECT count(*) FROM webhook_deliveries WHERE attempts > 0 AND state = 'waiting'")
            == 0)
      }
    }
  }

  @Test("A hook that fails has few jobs, and one event that is refused stops no other subject")
  func poison() async throws {
    let receiver = try WebhookReceiver { arrival, _ in
      String(decoding: arrival.body, as: UTF8.self).contains("poison")
        ? WebhookReceiver.failed : WebhookReceiver.accepted
    }
    defer { receiver.stop() }
    try await WebhookStage.run { stage in
      let hook = try await stage.hook(receiver.url, .postCreated)
      let author = try await stage.app.account("ann")
      for number in 0..<20 { try await stage.app.post(number == 3 ? "poison" : "post \(number)", by: author) }
      try await stage.working {
        try await eventually("all but one are delivered") { try await stage.count("delivered", for: hook) == 19 }
        // A day later it is given up, while the hook, which had a delivery meanwhile, goes on.
        stage.time.withLock { $0 += 43_200 }
        try await stage.app.post("one more", by: author)
        try await eventually("that is delivered") { try await stage.count("delivered", for: hook) == 20 }
        stage.time.withLock { $0 += 43_201 }
        try await eventually("it is given up") { try await stage.count("failed", for: hook) == 1 }
      }
      #expect(try await stage.state(of: hook) == "active")
    }
  }

  @Test("A hook without a delivery for a day is paused with an alarm, and continues where it stopped")
  func pause() async throws {
    let isWell = Locked(false)
    let receiver = try WebhookReceiver { _, _ in
      isWell.withLock { $0 } ? WebhookReceiver.accepted : WebhookReceiver.failed
    }
    defer { receiver.stop() }
    try await WebhookStage.run { stage in
      let hook = try await stage.hook(receiver.url, .postCreated)
      let author = try await stage.app.account("ann")
      for number in 0..<20 { try await stage.app.post("post \(number)", by: author) }
      try await stage.working {
        try await eventually("it fails") { receiver.arrivals.count >= 10 }
        let busy = try await stage.app.count("SELECT count(*) FROM webhook_lines WHERE job_id IS NOT NULL")
        #expect((1...16).contains(busy), "\(busy)")
        #expect(try await stage.state(of: hook) == "active")
        stage.time.withLock { $0 += 86_401 }
        try await eventually("it is paused") { try await stage.state(of: hook) == "paused" }
        try await eventually("its jobs end") {
          try await stage.app.count("SELECT count(*) FROM jobs WHERE queue = 'webhooks'") == 0
        }
        #expect(stage.alarms.withLock { $0.map(\.hook) } == [hook])
        #expect(try await stage.count("waiting", for: hook) == 20)
        // It still collects events.
        try await stage.app.post("while paused", by: author)
        try await eventually("it waits too") { try await stage.count("waiting", for: hook) == 21 }
        let before = receiver.arrivals.count
        isWell.withLock { $0 = true }
        try await stage.resume(hook)
        try await eventually("all are delivered") { try await stage.count("delivered", for: hook) == 21 }
        #expect(receiver.arrivals.count == before + 21)
      }
      let text = String(decoding: try #require(stage.alarms.withLock { $0.first }).json(), as: UTF8.self)
      #expect(text.contains(#""what":"paused""#) && text.contains("fanmill webhooks resume \(hook)"))
    }
  }

  @Test("A receiver that answers 410 gets no more")
  func gone() async throws {
    let receiver = try WebhookReceiver { _, _ in WebhookReceiver.gone }
    defer { receiver.stop() }
    try await WebhookStage.run { stage in
      let hook = try await stage.hook(receiver.url, .postCreated)
      let author = try await stage.app.account("ann")
      for _ in 0..<10 { try await stage.app.post(by: author) }
      try await stage.working {
        try await eventually("it is disabled") { try await stage.state(of: hook) == "disabled" }
        try await eventually("its jobs end") {
          try await stage.app.count("SELECT count(*) FROM jobs WHERE queue = 'webhooks'") == 0
        }
      }
      #expect(try await stage.count("failed", for: hook) == 10)
      let arrivals = receiver.arrivals.count
      #expect(arrivals <= 4)
      let events = try await stage.app.count("SELECT count(*) FROM webhook_events")
      try await stage.app.post(by: author)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == events)
    }
  }

  @Test("A redirect is not followed, and of a long answer the start is kept")
  func answers() async throws {
    let elsewhere = try WebhookReceiver()
    let long = String(repeating: "x", count: 100_000)
    let receiver = try WebhookReceiver { _, before in
      before == 0
        ? "HTTP/1.1 302 Found\r\nLocation: \(elsewhere.url)\r\nContent-Length: 0\r\n\r\n"
        : "HTTP/1.1 200 OK\r\nContent-Length: \(long.count)\r\n\r\n\(long)"
    }
    defer {
      receiver.stop()
      elsewhere.stop()
    }
    try await WebhookStage.run { stage in
      let hook = try await stage.hook(receiver.url, .postCreated)
      try await stage.app.post(by: try await stage.app.account("ann"))
      try await stage.working {
        try await eventually("it is delivered") { try await stage.count("delivered", for: hook) == 1 }
      }
      let (attempts, status, answer) = try await stage.app.pool.query(
        "SELECT attempts, status, answer FROM webhook_deliveries")[0].decode(Int32.self, Int32.self, String.self)
      #expect(attempts == 2 && status == 200 && answer == String(repeating: "x", count: 1024))
      #expect(elsewhere.arrivals.isEmpty)
    }
  }

  @Test("A private address gets nothing, whatever the hook's row says")
  func privateAddress() async throws {
    let receiver = try WebhookReceiver()
    defer { receiver.stop() }
    try await WebhookStage.run(allowsPrivate: false) { stage in
      for url in [receiver.url, receiver.url.replacing("http:", with: "https:")] {
        let hook = try await stage.hook(url, .postCreated)
        let sealed = try WebhookStage.secrets.seal(WebhookStage.secret, of: hook)
        let event = WaitingEvent(
          hook: hook, url: url, isHookFailing: false, secrets: [sealed], event: 1, body: Array("{}".utf8))
        let attempt = try await stage.sender.send(event)
        #expect(attempt.status == nil && attempt.outcome == .refused && !attempt.text.isEmpty)
      }
      // A name that leads there is refused at the connection.
      let url = receiver.url.replacing("http:", with: "https:").replacing("127.0.0.1", with: "localhost")
      let hook = try await stage.hook(url, .postCreated)
      let sealed = try WebhookStage.secrets.seal(WebhookStage.secret, of: hook)
      let attempt = try await stage.sender.send(
        WaitingEvent(hook: hook, url: url, isHookFailing: false, secrets: [sealed], event: 1, body: Array("{}".utf8)))
      #expect(attempt.status == nil && attempt.text.contains("private or reserved"), "\(attempt.text)")
      #expect(receiver.arrivals.isEmpty)
    }
  }

  @Test("A deleted account's data is erased from events, also from those that wait")
  func deletion() async throws {
    let receiver = try WebhookReceiver()
    defer { receiver.stop() }
    try await WebhookStage.run { stage in
      let hook = try await stage.hook(
        receiver.url, .postCreated, .followCreated, .postDeleted, .accountDeleted)
      try await stage.app.pool.execute("UPDATE webhooks SET state = 'paused', reason = 'a test'")
      let ann = try await stage.app.account("ann")
      let bob = try await stage.app.account("bob")
      let post = try await stage.app.post("Ann's secret", by: ann)
      try await stage.app.follow(ann, by: bob)
      try await stage.app.client.transaction { try await Deletions.delete(ann, in: $0) }
      try await stage.working {
        try await eventually("the account is removed") {
          try await stage.app.count("SELECT count(*) FROM hidden_accounts") == 0
        }
        try await stage.resume(hook)
        try await eventually("all are delivered") { try await stage.count("delivered", for: hook) == 4 }
      }
      let texts = receiver.arrivals.map { String(decoding: $0.body, as: UTF8.self) }
      #expect(!texts.joined().contains("ann") && !texts.joined().contains("secret"), "\(texts)")
      #expect(texts.count { $0.contains(#""isErased": true"#) } == 2)
      #expect(
        receiver.arrivals.filter { $0.subject == "post/\(post)" }.map(\.type) == ["post.created", "post.deleted"])
      #expect(try await LeftoverAudit.run(on: stage.app.pool).isClean)
    }
  }

  @Test("An edit of a post that is taken down is shown to no receiver")
  func takedown() async throws {
    try await WebhookStage.run { stage in
      _ = try await stage.hook("http://127.0.0.1:1/", .postEdited)
      let author = try await stage.app.account("ann")
      let post = try await stage.app.post(by: author)
      try await stage.app.client.transaction { try await Takedowns.takeDown(.post(post), because: "rude", in: $0) }
      try await stage.edit(post, "rude again", by: author)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 0)
      try await stage.app.client.transaction { try await Takedowns.restore(.post(post), because: "kind", in: $0) }
      try await stage.edit(post, "kind", by: author)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 1)
    }
  }

  @Test("A certificate whose fan is deleted before its event is written leaves none")
  func certificate() async throws {
    try await WebhookStage.run { stage in
      _ = try await stage.hook("http://127.0.0.1:1/", .certificateIssued)
      let fan = try await stage.app.account("ann")
      let certificate = FanCertificate(
        platform: .instagram, account: "an.artist", username: "ann", since: Date(), hearts: 3, rank: 1, fans: 2,
        issuedAt: Date())
      try await FanCertificates.note(certificate, of: fan, in: stage.app.pool)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events WHERE account_id = \(fan)") == 1)
      try await stage.app.client.transaction { try await Deletions.delete(fan, in: $0) }
      try await FanCertificates.note(certificate, of: fan, in: stage.app.pool)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 1)
    }
  }

  @Test("An event whose job is gone is found, and gets another")
  func repair() async throws {
    let receiver = try WebhookReceiver()
    defer { receiver.stop() }
    try await WebhookStage.run { stage in
      let hook = try await stage.hook(receiver.url, .postCreated)
      let author = try await stage.app.account("ann")
      for _ in 0..<6 { try await stage.app.post(by: author) }
      #expect(try await WebhookAudit.run(on: stage.app.pool).isClean)
      try await stage.app.pool.execute("DELETE FROM jobs.jobs WHERE queue = 'webhooks'")
      #expect(try await WebhookAudit.run(on: stage.app.pool).undispatched == 6)
      try await stage.app.client.transaction { try await WebhookDispatch.run(in: $0) }
      #expect(try await WebhookAudit.run(on: stage.app.pool).isClean)
      try await stage.app.pool.execute("DELETE FROM jobs.jobs WHERE queue = 'webhooks'")
      // Four had their turn; the others wait for it.
      #expect(try await WebhookAudit.run(on: stage.app.pool).stranded == 4)
      try await stage.app.client.transaction { try await WebhookSweep(days: 7).run(in: $0) }
      #expect(try await WebhookAudit.run(on: stage.app.pool).isClean)
      try await stage.working {
        try await eventually("all are delivered") { try await stage.count("delivered", for: hook) == 6 }
      }
      // Old events go.
      try await stage.app.pool.execute("UPDATE webhook_events SET created_at = now() - interval '8 days'")
      try await stage.app.client.transaction { try await WebhookSweep(days: 7).run(in: $0) }
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 0)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_deliveries") == 0)
    }
  }

  @Test("Pausing a hook writes only the lines that have a job")
  func pausingALargeBacklog() async throws {
    try await WebhookStage.run { stage in
      let hook = try await stage.hook("http://127.0.0.1:1/", .postCreated)
      let author = try await stage.app.account("ann")
      for _ in 0..<8 { try await stage.app.post(by: author) }
      try await stage.app.client.transaction { try await WebhookDispatch.run(in: $0) }
      let subjects = try await idle(stage)
      // The rows' versions.
      let open: PostgresQuery = "SELECT ctid::text FROM webhook_lines WHERE subject = ANY (\(subjects))"
      let before = try await stage.app.pool.query(open).decode(String.self)
      #expect(before.count == 4)
      for (seconds, next) in [(0, "retry"), (86_401, "paused")] {
        let outcome = try await stage.app.pool.query(
          """
          SELECT (end_webhook_attempt(l.hook_id, l.subject, l.job_id, l.first_event, 'refused', 500, 'x', 1,
            now() + make_interval(secs => \(Double(seconds))), interval '1 day')).next
          FROM (SELECT * FROM webhook_lines WHERE job_id IS NOT NULL ORDER BY first_event LIMIT 1) l
          """)[0].decode(String.self)
        #expect(outcome == next)
      }
      #expect(try await stage.state(of: hook) == "paused")
      #expect(try await idle(stage).count == 8)
      #expect(Set(try await stage.app.pool.query(open).decode(String.self)) == Set(before))
    }
  }

  private func idle(_ stage: WebhookStage) async throws -> [String] {
    try await stage.app.pool.query("SELECT subject FROM webhook_lines WHERE job_id IS NULL").decode(String.self)
  }

  @Test("A clock that was a year ahead does not keep a hook from being paused")
  func clock() async throws {
    try await WebhookStage.run { stage in
      let hook = try await stage.hook("http://127.0.0.1:1/", .postCreated)
      try await stage.app.post(by: try await stage.app.account("ann"))
      try await stage.app.client.transaction { try await WebhookDispatch.run(in: $0) }
      for (days, next) in [(365, "retry"), (0, "retry"), (1, "paused")] {
        let outcome = try await stage.app.pool.query(
          """
          SELECT (end_webhook_attempt(hook_id, subject, job_id, first_event, 'refused', 500, 'x', 1,
            now() + make_interval(days => \(Int32(days))), interval '1 day')).next FROM webhook_lines
          """)[0].decode(String.self)
        #expect(outcome == next)
      }
      #expect(try await stage.state(of: hook) == "paused")
    }
  }

  @Test("What waits for a disabled hook is given up in parts, and the sweep does the rest")
  func givingUpALargeBacklog() async throws {
    try await WebhookStage.run { stage in
      let hook = try await stage.hook("http://127.0.0.1:1/", .postCreated, .postEdited)
      let author = try await stage.app.account("ann")
      for _ in 0..<8 { try await stage.edit(try await stage.app.post(by: author), "new", by: author) }
      try await stage.app.client.transaction { try await WebhookDispatch.run(in: $0) }
      try await stage.app.pool.execute("UPDATE webhooks SET state = 'disabled', reason = 'a test'")
      #expect(try await stage.app.count("SELECT abandon_webhook_lines(\(hook), now(), 5)::bigint") == 5)
      #expect(try await stage.count("failed", for: hook) == 5)
      #expect(try await idle(stage).count == 6)
      try await stage.app.client.transaction { try await WebhookSweep(days: 7).run(in: $0) }
      #expect(try await stage.count("failed", for: hook) == 16)
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_lines") == 0)
    }
  }

  @Test("A paused hook's lines go with their events")
  func sweptLines() async throws {
    try await WebhookStage.run { stage in
      let hook = try await stage.hook("http://127.0.0.1:1/", .postCreated, .postEdited)
      try await stage.app.pool.execute("UPDATE webhooks SET state = 'paused', reason = 'a test'")
      let author = try await stage.app.account("ann")
      var posts: [Int] = []
      for _ in 0..<3 { posts.append(try await stage.app.post(by: author)) }
      try await stage.edit(posts[0], "new", by: author)
      try await stage.app.pool.execute(
        "UPDATE webhook_events SET created_at = now() - interval '8 days' WHERE type = 'post.created'")
      // The first deletes the events, the second their lines.
      for _ in 0..<2 { try await stage.app.client.transaction { try await WebhookSweep(days: 7).run(in: $0) } }
      #expect(try await stage.count("waiting", for: hook) == 1)
      #expect(
        try await stage.app.pool.query(
          "SELECT l.subject FROM webhook_lines l JOIN webhook_events e ON e.id = first_event"
        ).decode(String.self) == ["post/\(posts[0])"])
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_lines") == 1)
    }
  }

  @Test("Events that waited for a dispatch longer than events are kept are not swept")
  func undispatched() async throws {
    try await WebhookStage.run { stage in
      let hook = try await stage.hook("http://127.0.0.1:1/", .postCreated)
      let count = WebhookDispatch.batchLimit + 100
      try await stage.app.pool.execute(
        """
        INSERT INTO webhook_events (type, subject, data, created_at)
        SELECT 'post.created', 'post/' || n, '{}', now() - interval '8 days' FROM generate_series(1, \(count)) n
        """)
      try await stage.app.client.transaction { try await WebhookSweep(days: 7).run(in: $0) }
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == count)
      try await stage.app.client.transaction { try await WebhookDispatch.run(in: $0) }
      #expect(try await stage.count("waiting", for: hook) == count)
    }
  }

  @Test("A transaction that is rolled back sends nothing")
  func rollback() async throws {
    struct Undone: Error {}
    try await WebhookStage.run { stage in
      _ = try await stage.hook("http://127.0.0.1:1/", .postCreated)
      let author = try await stage.app.account("ann")
      let draft = try PostDraft(title: "never")
      await #expect(throws: Undone.self) {
        try await stage.app.client.transaction { transaction in
          try await Posts.create(draft, by: author, in: transaction)
          throw Undone()
        }
      }
      #expect(try await stage.app.count("SELECT count(*) FROM webhook_events") == 0)
    }
  }
}
