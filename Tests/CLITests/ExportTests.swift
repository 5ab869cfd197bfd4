import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import Foundation
import LibPQClient
import ProgramTestSupport
import Testing

@Suite("fanmill export, feed rebuild, audit", .timeLimit(.minutes(5)))
struct ExportTests {
  @Test("What is exported, plain or packed, can be imported elsewhere and is the same")
  func graph() async throws {
    let folder = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record("\(error)") } }
    let graph: PostgresQuery = """
      SELECT string_agg(f.username || '>' || a.username, ' ' ORDER BY f.username, a.username) || '; '
        || (SELECT string_agg(username || '=' || major, ' ' ORDER BY username) FROM accounts)
      FROM follows JOIN accounts f ON f.id = follower_id JOIN accounts a ON a.id = followee_id
      """
    let before = try await TestStack.with { stack in
      try await stack.pool.execute(
        "INSERT INTO accounts (username, major) VALUES ('ann', '수학'), ('bob', ''), ('cid', 'law and order')")
      try await stack.pool.execute(
        "INSERT INTO follows (follower_id, followee_id) SELECT f.id, a.id FROM accounts f, accounts a WHERE f.id < a.id"
      )
      let cli = CLI(stack)
      let said = try await cli(
        "export", "--users", folder + "/users.tsv.gz", "--follows", folder + "/follows.tsv", "--json"
      ).fields()
      #expect(said["accounts"] as? Int == 3 && said["follows"] as? Int == 3)
      #expect(
        try await cli("export", "--follows", "-").output.split(separator: "\n").sorted() == [
          "ann\tbob", "ann\tcid", "bob\tcid",
        ])
      return try await stack.pool.query(graph)[0].decode(String.self)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["follows.tsv", "users.tsv.gz"])
    #expect(FileManager.default.contents(atPath: folder + "/users.tsv.gz")?.prefix(2) == Data([0x1F, 0x8B]))
    let after = try await TestStack.with { stack in
      try await CLI(stack)("import", "--users", folder + "/users.tsv.gz", "--follows", folder + "/follows.tsv")
      return try await stack.pool.query(graph)[0].decode(String.self)
    }
    #expect(after == before)
  }

  @Test("Jobs are JSON, one a line; a file that cannot be written ends with 73")
  func jobs() async throws {
    struct Line: Decodable {
      let id: String
      let kind: String
      let payload: String
      let uniqueKey: String?
    }
    try await TestStack.with { stack in
      let cli = CLI(stack)
      for number in 0..<3 {
        try await cli(
          "jobs", "enqueue", "posts.fan-out", "--payload", #"{"post":\#(number),"author":2}"#, "--unique-key",
          "\(number)")
      }
      let lines = try await cli("export", "--jobs", "-").output.split(separator: "\n").map {
        try JSONDecoder().decode(Line.self, from: Data($0.utf8))
      }
      #expect(lines.map(\.payload) == (0..<3).map { #"{"post":\#($0),"author":2}"# })
      #expect(lines.map(\.uniqueKey) == ["0", "1", "2"] && lines.allSatisfy { $0.kind == "posts.fan-out" })
      #expect(try await cli("export", "--dead", "-").output.isEmpty)
      // Some exceed a page, others share one.
      try await stack.pool.execute(
        """
        INSERT INTO jobs (queue, id, kind, version, payload)
        SELECT 'large', gen_random_uuid(), 'test.large', 1, repeat('x', i * 1000000) FROM generate_series(0, 6) AS i
        """)
      let large = try await cli("export", "--jobs", "-").output.split(separator: "\n").map {
        try JSONDecoder().decode(Line.self, from: Data($0.utf8)).payload.utf8.count
      }
      #expect(large.count == 10 && Set(large.suffix(7)) == Set((0...6).map { $0 * 1_000_000 }))
      #expect(try await cli("export", "--jobs", "/nowhere/at-all", status: 73).errors.contains("/nowhere/at-all"))
    }
    for arguments in [[], ["--users", "-", "--follows", "-"], ["--users", "-", "--json"]] {
      let outcome = try await BuiltProgram("fanmill").run(["export"] + arguments, environment: nowhere)
      #expect(outcome.status == 64, "\(arguments)")
    }
  }

  @Test("A feed is shown, broken, found broken, and rebuilt: one account's, then all")
  func rebuild() async throws {
    struct Feed: Decodable {
      struct Item: Decodable {
        let postId: Int
        let author: String
        let title: String
      }
      let items: [Item]
      let next: String?
    }
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann'), ('bob'), ('cid'), ('dan')")
      // Ann and Bob follow Cid and Dan, who have three posts each.
      try await stack.pool.execute(
        """
        INSERT INTO follows (follower_id, followee_id)
        SELECT f.id, a.id FROM accounts f, accounts a
        WHERE f.username IN ('ann', 'bob') AND a.username IN ('cid', 'dan')
        """)
      try await stack.pool.execute(
        """
        INSERT INTO posts (author_id, title) SELECT id, username || ' ' || i FROM accounts, generate_series(1, 3) i
        WHERE username IN ('cid', 'dan')
        """)
      try await stack.pool.execute(
        "INSERT INTO following_user_posts SELECT follower_id, p.id FROM follows JOIN posts p ON author_id = followee_id"
      )
      let page = try await cli("feed", "show", "ann", "--limit", "4", "--json").json(Feed.self)
      #expect(page.items.count == 4)
      let rest = try await cli("feed", "show", "ann", "--before", try #require(page.next), "--json").json(Feed.self)
      #expect(rest.items.count == 2 && rest.next == nil)
      #expect(try await cli("feed", "show", "cid").output.contains("the feed of cid is empty"))
      #expect(try await cli("feed", "show", "nobody", status: 1).errors.contains("'nobody'"))

      // Missing rows, extra rows, and rows of a post that never existed.
      func tamper() async throws {
        try await stack.pool.execute(
          "DELETE FROM following_user_posts USING posts p WHERE post_id = p.id AND title IN ('cid 1', 'dan 2')")
        try await stack.pool.execute(
          "INSERT INTO following_user_posts SELECT a.id, p.id FROM accounts a, posts p WHERE a.username = 'cid' AND title = 'dan 3'"
        )
        try await stack.pool.execute(
          "INSERT INTO following_user_posts SELECT a.id, max(p.id) + 1 FROM accounts a, posts p WHERE a.username = 'ann' GROUP BY a.id"
        )
      }
      try await tamper()
      try await cli("feed", "audit", status: 1, isNotified: true)
      let one = try await cli("feed", "rebuild", "ann", "--json").fields()
      #expect(one["added"] as? Int == 2 && one["removed"] as? Int == 1)
      #expect(try await cli("feed", "show", "ann", "--json").json(Feed.self).items.count == 6)
      try await cli("feed", "audit", status: 1, isNotified: true)
      let all = try await cli("feed", "rebuild", "--all", "--json").fields()
      #expect(all["added"] as? Int == 2 && all["removed"] as? Int == 1)
      try await cli("feed", "audit")
      #expect(try await cli("feed", "rebuild", "--all").output.contains("nothing to do"))
      try await cli("feed", "rebuild", status: 64)
      try await cli("feed", "rebuild", "ann", "--all", status: 64)
    }
  }

  @Test("The audit of everything has one verdict, and names what is wrong")
  func audit() async throws {
    struct Report: Decodable {
      struct Item: Decodable {
        let audit: String
        let verdict: String
        let differing: Int
      }
      let verdict: String
      let items: [Item]
    }
    try await TestStack.with { stack in
      let cli = CLI(stack)
      let well = try await cli("audit", "--json").json(Report.self)
      #expect(well.verdict == "exact")
      #expect(
        well.items.map(\.audit) == [
          "feeds", "notifications", "notification counts", "post counts", "fan levels", "heart counts", "rankings",
          "picture counts", "picture files", "picture store", "searches", "deleted accounts", "webhooks", "jobs",
          "broker",
        ])
      // An old job that the broker does not know, and that no process pushes.
      try await stack.pool.execute(
        """
        INSERT INTO jobs (queue, id, kind, version, payload) VALUES ('fanout', '01900000-0000-7000-8000-000000000000',
          'posts.fan-out', 1, '{}')
        """)
      // A job that is in the broker but not in the ledger.
      try await stack.broker.push([.test(queue: "fanout")])
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      try await stack.pool.execute(
        "INSERT INTO notification_counts (owner_id, kept, unread) SELECT id, 3, 1 FROM accounts")
      let ill = try await cli("audit", "--json", status: 1, isNotified: true).json(Report.self)
      #expect(ill.verdict == "wrong")
      #expect(ill.items.filter { $0.verdict != "exact" }.map(\.audit) == ["notification counts", "jobs", "broker"])
      #expect(try await cli("audit", status: 1, isNotified: true).output.contains("NOT exact"))
    }
  }
}
