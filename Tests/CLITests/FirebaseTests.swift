import Foundation
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@Suite("fanmill import firebase, export account", .timeLimit(.minutes(5)))
struct FirebaseTests {
  private struct Report: Decodable {
    struct Count: Decodable {
      let kind: String
      let added: Int
      let known: Int
      let rejected: Int
    }
    let items: [Count]
    let isDryRun: Bool

    func count(_ kind: String) -> Count? { items.first { $0.kind == kind } }
  }

  private func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
  }

  /// Users who follow the next one, with a post each that the next one likes.
  private func write(users count: Int, to file: String) throws {
    var users: [String: Any] = [:]
    var posts: [String: Any] = [:]
    var follows: [String: Any] = [:]
    var likes: [String: Any] = [:]
    for number in 0..<count {
      let next = (number + 1) % count
      users["u\(number)"] = ["username": "user\(number)"]
      posts["p\(number)"] = ["author": "u\(number)", "title": "post \(number)", "createdAt": 1_750_000_000 + number]
      follows["u\(number)"] = ["u\(next)": true]
      likes["p\(number)"] = ["u\(next)": true]
    }
    let all: [String: Any] = ["users": users, "posts": posts, "following": follows, "likes": likes]
    try JSONSerialization.data(withJSONObject: all).write(to: URL(fileURLWithPath: file))
  }

  @Test("An import that is killed again and again goes on, ends exact, and adds nothing when it is repeated")
  func kill() async throws {
    var generator = SeededGenerator("FirebaseTests.kill")
    let waits = (0..<6).map { _ in Int.random(in: 50...900, using: &generator) }
    try await TestStack.with { stack in
      try await withFolder { folder in
        let (file, rejects) = (folder + "/database.json", folder + "/rejects.jsonl")
        let users = 4000
        try write(users: users, to: file)
        let arguments = ["import", "firebase", "--database", file, "--rejects", rejects]
        for wait in waits {
          let program = try BuiltProgram("fanmill").start(arguments, environment: stack.settings, in: folder)
          try await Task.sleep(for: .milliseconds(wait))
          program.send(SIGKILL)
          _ = await program.outcome()
        }
        try await CLI(stack)("import", "firebase", "--database", file, "--rejects", rejects)
        for table in ["accounts", "posts", "follows", "likes", "following_user_posts"] {
          #expect(try await stack.count("SELECT count(*) FROM \(unescaped: table)") == users, "\(table)")
        }
        try await CLI(stack)("audit")
        let again = try await CLI(stack)(
          "import", "firebase", "--database", file, "--rejects", rejects, "--json"
        ).json(Report.self)
        #expect(again.items.allSatisfy { $0.added == 0 && $0.rejected == 0 } && !again.isDryRun)
        #expect(again.count("users")?.known == users)
        #expect(!FileManager.default.fileExists(atPath: rejects))
      }
    }
  }

  @Test("A rejected record is told by the exit status, and wrong files and options by their names")
  func mistakes() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await withFolder { folder in
        let rejects = folder + "/rejects.jsonl"
        try await withFile(#"{"users": {"a": {"username": "ann"}}, "posts": {"p": {"author": "nobody"}}}"#) { file in
          let arguments = ["import", "firebase", "--firestore", file, "--rejects", rejects]
          let dry = try await BuiltProgram("fanmill").run(
            arguments + ["--dry-run", "--json"], environment: stack.settings, in: folder)
          #expect(dry.status == 65)
          #expect(try dry.json(Report.self).count("posts")?.rejected == 1)
          #expect(try await stack.count("SELECT count(*) FROM accounts") == 0)
          let outcome = try await BuiltProgram("fanmill").run(arguments, environment: stack.settings, in: folder)
          #expect(outcome.status == 65 && outcome.output.contains(rejects))
          #expect(try await stack.count("SELECT count(*) FROM accounts") == 1)
        }
        try await withFile("{\n\"users\": {\"a\" 1}}") { file in
          let outcome = try await cli("import", "firebase", "--firestore", file, "--rejects", rejects, status: 65)
          #expect(outcome.errors.contains("\(file):2:"))
        }
        try await cli("import", "firebase", "--firestore", "/nowhere/at-all", "--rejects", rejects, status: 66)
        try await withFile("{}") { file in
          try await cli("import", "firebase", "--firestore", file, "--rejects", "/nowhere/at-all", status: 73)
          let outcome = try await cli("import", "firebase", "--auth", file, status: 64)
          #expect(outcome.errors.contains("--hash-config"))
        }
        try await cli("import", "firebase", status: 64)
      }
    }
  }

  @Test("An account is exported into a file, once")
  func export() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      try await withFolder { folder in
        let file = folder + "/ann.zip"
        try await cli("export", "account", "ann", "--to", file)
        let bytes = try #require(FileManager.default.contents(atPath: file))
        #expect(
          bytes.starts(with: [0x50, 0x4B, 3, 4]) && String(decoding: bytes, as: UTF8.self).contains("posts.json"))
        try await cli("export", "account", "ann", "--to", file, status: 73)
        try await cli("export", "account", "bob", "--to", folder + "/bob.zip", status: 1)
        #expect(!FileManager.default.fileExists(atPath: folder + "/bob.zip"))
        // Without an address there is nobody to mail a link to.
        #expect(try await cli("export", "account", "ann", status: 1).errors.contains("email"))
      }
    }
  }
}
