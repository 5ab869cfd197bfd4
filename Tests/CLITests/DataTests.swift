import Foundation
import LibPQClient
import MailTestSupport
import PrivateServers
import ProgramTestSupport
import SocialAdmin
import TestSupport
import Testing

@Suite("fanmill migrate, import, accounts, feed, doctor", .timeLimit(.minutes(5)))
struct DataTests {
  private struct Report: Decodable {
    let accountsAdded: Int
    let accountsKnown: Int
    let followsAdded: Int
    let followsKnown: Int
    let feedRows: Int
  }

  private struct Detailed: Decodable {
    struct Finding: Decodable {
      let name: String
      let status: String
      let detail: String
    }
    let items: [Finding]
  }

  @Test("Migrations go up and down and are listed")
  func migrate() async throws {
    let settings = ["FANMILL_POSTGRES_URL": try await TestStack.emptyDatabase()]
    let cli = CLI(settings)
    func applied() async throws -> [Bool] {
      let items = try await cli("migrate", "status", "--json", "--migrations", TestStack.migrations).fields()["items"]
      return (items as? [[String: Any]] ?? []).map { $0["appliedAt"] != nil }
    }
    let untouched = try await cli("jobs", "list", status: 1)
    #expect(untouched.errors.contains("fanmill migrate up"))
    #expect(try await applied().allSatisfy { !$0 })
    try await cli("migrate", "up", "--migrations", TestStack.migrations)
    let all = try await applied()
    #expect(!all.isEmpty && all.allSatisfy { $0 })
    let refused = try await cli("migrate", "down", "--migrations", TestStack.migrations, status: 64)
    #expect(refused.errors.contains("--yes"))
    try await cli("migrate", "down", "--yes", "--migrations", TestStack.migrations)
    #expect(try await applied() == all.dropLast() + [false])
    try await cli("migrate", "down", "--count", "1000", "-y", "--migrations", TestStack.migrations)
    #expect(try await applied().allSatisfy { !$0 })
    try await cli("migrate", "up", "--migrations", TestStack.migrations)
  }

  @Test("A graph is imported, again without effect, and a bad line is told with its number and nothing is imported")
  func graph() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await withFile("# people\nann\tmath\nbob\ncid\tlaw\n") { users in
        try await withFile("ann\tbob\ncid\tbob\nann bob\n") { bad in
          let outcome = try await cli("import", "--users", users, "--follows", bad, status: 65)
          #expect(outcome.errors.contains("\(bad):3:"))
          #expect(try await stack.count("SELECT count(*) FROM accounts") == 0)
        }
        try await withFile("ann\tbob\ncid\tdora\n") { bad in
          let outcome = try await cli("import", "--users", users, "--follows", bad, status: 65)
          #expect(outcome.errors.contains("\(bad):2:") && outcome.errors.contains("dora"))
          #expect(try await stack.count("SELECT count(*) FROM accounts") == 0)
        }
        try await withFile("ann\tbob\ncid\tbob\n") { follows in
          let report = try await cli("import", "--users", users, "--follows", follows, "--json").json(Report.self)
          #expect(report.accountsAdded == 3 && report.followsAdded == 2)
          let again = try await cli("import", "--users", users, "--follows", follows, "--json").json(Report.self)
          #expect(again.accountsAdded == 0 && again.accountsKnown == 3 && again.followsKnown == 2)
        }
      }
      try await cli("import", "--users", "/nowhere/at-all", status: 66)
      #expect(try await stack.count("SELECT count(*) FROM accounts") == 3)
    }
  }

  @Test("A token is issued for an account that exists")
  func token() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      let token = try await CLI(stack)("accounts", "token", "ann", "--json").fields()["token"] as? String
      #expect(token?.count == 43)
      #expect(try await stack.count("SELECT count(*) FROM sessions") == 1)
      #expect(try await CLI(stack)("accounts", "token", "bob", status: 1).errors.contains("'bob'"))
    }
  }

  @Test(
    "A token for a new password is issued for an account that exists, and its mail is sent by a worker that has a server"
  )
  func reset() async throws {
    let server = try MailStandIn(credentials: "us@er:a-mail-password")
    defer { server.stop() }
    try await TestStack.with { stack in
      try await stack.pool.execute("INSERT INTO accounts (username, email) VALUES ('ann', 'ann@example.org')")
      let token = try await CLI(stack)("accounts", "reset", "ann", "--json").fields()["token"] as? String
      #expect(token?.count == 43)
      #expect(try await stack.count("SELECT count(*) FROM password_resets") == 1)
      #expect(try await stack.count("SELECT count(*) FROM sessions") == 0)
      #expect(try await CLI(stack)("accounts", "reset", "bob", status: 1).errors.contains("'bob'"))

      let url = "smtp://us%40er:a-mail-password@127.0.0.1:\(server.port)"
      var settings = stack.settings.merging(["FANMILL_MAIL_URL": url, "FANMILL_WORKER_PORT": "0"]) { $1 }
      let incomplete = try await BuiltProgram("fanmill-worker").run([], environment: settings)
      #expect(incomplete.status == 78 && incomplete.errors.contains("FANMILL_MAIL_FROM"), "\(incomplete.errors)")
      settings["FANMILL_MAIL_FROM"] = "no-reply@example.org"
      settings["FANMILL_PASSWORD_RESET_URL"] = "https://app.example/reset?token={token}"
      settings["FANMILL_LOG_LEVEL"] = "trace"
      let worker = try BuiltProgram("fanmill-worker").start(environment: settings)
      defer { worker.send(SIGKILL) }
      let account = try await stack.count("SELECT id FROM accounts")
      try await CLI(stack)(
        "jobs", "enqueue", "accounts.password-reset-mail", "--payload", #"{"account":\#(account)}"#, "--wait")
      let mail = try #require(server.mails.first)
      #expect(mail.from == "no-reply@example.org" && mail.recipients == ["ann@example.org"])
      #expect(mail.body.contains("https://app.example/reset?token="))
      #expect(!worker.errorsSoFar.contains("a-mail-password"))
    }
  }

  @Test("An audit finds a row too few and a row too many, prints them and ends with 1")
  func audit() async throws {
    struct Row: Decodable, Equatable {
      let problem: String
      let username: String
    }
    struct Audit: Decodable {
      let exact: Bool
      let expected: Int
      let found: Int
      let missing: Int
      let stale: Int
      let items: [Row]
    }
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann'), ('bob'), ('cid')")
      try await stack.pool.execute(
        """
        INSERT INTO follows (follower_id, followee_id)
        SELECT f.id, a.id FROM accounts f, accounts a WHERE f.username IN ('ann', 'bob') AND a.username = 'cid'
        """)
      try await stack.pool.execute(
        "INSERT INTO posts (author_id, title) SELECT id, 'a title' FROM accounts WHERE username = 'cid'")
      try await stack.pool.execute(
        "INSERT INTO following_user_posts (user_id, post_id) SELECT follower_id, posts.id FROM follows, posts")
      #expect(try await cli("feed", "audit").output.hasPrefix("exact"))
      try await stack.pool.execute(
        "DELETE FROM following_user_posts USING accounts WHERE user_id = id AND username = 'ann'")
      try await stack.pool.execute(
        "INSERT INTO following_user_posts (user_id, post_id) SELECT a.id, p.id FROM accounts a, posts p WHERE username = 'cid'"
      )
      let audit = try await cli("feed", "audit", "--json", status: 1, isNotified: true).json(Audit.self)
      #expect(!audit.exact && audit.missing == 1 && audit.stale == 1 && audit.expected == 2 && audit.found == 2)
      #expect(
        audit.items == [Row(problem: "missing", username: "ann"), Row(problem: "stale", username: "cid")])
      let text = try await cli("feed", "audit", status: 1, isNotified: true)
      #expect(text.output.contains("ann") && text.output.contains("NOT exact"))
    }
  }

  @Test(
    "An audit of notifications finds what is not told, what is told wrongly and what is miscounted, and ends with 1")
  func notificationAudit() async throws {
    struct Row: Decodable, Equatable {
      let problem: String
      let username: String
    }
    struct Audit: Decodable {
      let exact: Bool
      let expected: Int
      let found: Int
      let items: [Row]
    }
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann'), ('bob'), ('cid')")
      try await stack.pool.execute(
        """
        INSERT INTO follows (follower_id, followee_id, is_announced)
        SELECT f.id, a.id, true FROM accounts f, accounts a WHERE f.username IN ('ann', 'bob') AND a.username = 'cid'
        """)
      try await stack.pool.execute(
        """
        INSERT INTO notifications (owner_id, actor_id, type, created_at)
        SELECT followee_id, follower_id, 2, created_at FROM follows
        """)
      #expect(try await cli("notifications", "audit").output.hasPrefix("exact"))
      try await stack.pool.execute(
        "DELETE FROM notifications USING accounts a WHERE actor_id = a.id AND username = 'ann'")
      try await stack.pool.execute("DELETE FROM follows USING accounts a WHERE follower_id = a.id AND username = 'bob'")
      try await stack.pool.execute("UPDATE notification_counts SET unread = 0")
      let audit = try await cli("notifications", "audit", "--json", status: 1, isNotified: true).json(Audit.self)
      #expect(!audit.exact && audit.expected == 1 && audit.found == 1)
      #expect(audit.items.map(\.problem) == ["missing", "stale", "miscounted"])
      #expect(audit.items.allSatisfy { $0.username == "cid" })
      let text = try await cli("notifications", "audit", status: 1, isNotified: true)
      #expect(text.output.contains("cid") && text.output.contains("NOT exact") && text.output.contains("0 unread"))
    }
  }

  @Test("Where Redis takes no writes, what only reads answers, and the doctor says why nothing moves")
  func redisWithoutDisk() async throws {
    try await TestStack.with { stack in
      let server = try await PrivateRedis.withoutDisk()
      let cli = CLI(stack.settings.merging(["FANMILL_REDIS_URL": server.url]) { $1 })
      _ = try await cli("queues", "list")
      let doctor = try await cli("doctor", "--migrations", TestStack.migrations, status: 1, isNotified: true)
      #expect(doctor.output.contains("free space on its disk"))
      await server.kill9()
    }
  }

  @Test("The doctor finds all well, a schema that is missing, and servers that are away")
  func doctor() async throws {
    struct Finding: Decodable {
      let name: String
      let status: String
      let advice: String?
    }
    struct Findings: Decodable { let items: [Finding] }
    try await TestStack.with { stack in
      let well = try await CLI(stack)("doctor", "--json", "--migrations", TestStack.migrations).json(Findings.self)
        .items
      #expect(
        Set(["Postgres", "migrations", "Redis", "Redis eviction", "Postgres clock", "Redis clock"]).isSubset(
          of: well.map(\.name)))
      #expect(well.allSatisfy { $0.status != "fail" })
      let empty = stack.settings.merging(["FANMILL_POSTGRES_URL": try await TestStack.emptyDatabase()]) { $1 }
      let ill = try await CLI(empty)(
        "doctor", "--json", "--migrations", TestStack.migrations, status: 1, isNotified: true)
      #expect(
        try ill.json(Findings.self).items.contains {
          $0.name == "migrations" && $0.status == "fail" && $0.advice != nil
        })
    }
    let away = try await CLI(nowhere)(
      "doctor", "--json", "--migrations", TestStack.migrations, status: 1, isNotified: true)
    #expect(try away.json(Findings.self).items.filter { $0.status == "fail" }.map(\.name) == ["Postgres", "Redis"])
  }
  @Test(
    "The doctor tells of lost workers, wrong clocks, overdue schedules, paused queues and jobs that the broker lacks")
  func neglected() async throws {
    try await TestStack.with { stack in
      func found() async throws -> [String: Detailed.Finding] {
        let items = try await CLI(stack)("doctor", "--json", "--migrations", TestStack.migrations)
          .json(Detailed.self).items
        return Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0) })
      }
      let names = [
        "lost workers", "process clocks", "schedules", "paused queues", "refused jobs",
        "ledger and broker",
      ]
      let well = try await found()
      for name in names { #expect(well[name]?.status == "ok", "\(name): \(well[name]?.detail ?? "not looked at")") }
      try await stack.pool.pipeline([
        """
        INSERT INTO workers (name, host, pid, version, started_at, seen_at, state, queues, running)
        VALUES ('gone-1', 'gone', 1, '1', now(), now() - interval '1 minute', 'running', '[]', '[]')
        """,
        """
        INSERT INTO schedules (name, timing, kind, decided_until, next_tick)
        VALUES ('feed.partitions', 'every 6h', 'feed.partitions', now(), now() - interval '1 hour')
        """,
        "INSERT INTO queue_pauses (queue, paused_by) VALUES ('fanout', 'ann')",
        "INSERT INTO process_clocks (process, program, host, ahead_ms) VALUES ('p', 'fanmill-api', 'late', -7000)",
        """
        INSERT INTO jobs (queue, id, kind, version, payload, refusal)
        VALUES ('hearts', '01900000-0000-7000-8000-000000000000', 'hearts.count', 70000, '{}', 'version 70000')
        """,
      ])
      let ill = try await found()
      for (name, word) in zip(
        names, ["gone-1", "late (7 s behind", "feed.partitions", "by ann", "in hearts (version 70000)", "hearts (1)"])
      {
        #expect(ill[name]?.status == "warn" && ill[name]?.detail.contains(word) == true, "\(name)")
      }
    }
  }
}
