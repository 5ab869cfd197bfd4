import DurableJobsAdmin
import Foundation
import LibPQClient
import LocalStack
import ProgramTestSupport
import TestSupport
import Testing

/// Serialized, since each of these tests runs a whole stack, and the API listens on a port.
@Suite("fanmill up and down", .timeLimit(.minutes(5)), .serialized)
struct LocalStackTests {
  private struct Up: Decodable {
    let api: String
    let settings: [String: String]
    let workers: [Worker]
    let youtubeIsStandIn: Bool
  }

  private struct Worker: Decodable, Equatable {
    let name: String
    let pid: pid_t
    let port: Int
  }

  private func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "fanmill-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Postgres runs as a different user when these tests run as root.
    chmod(folder, 0o755)
    func fanmill(_ arguments: String...) async throws -> BuiltProgram.Outcome {
      try await BuiltProgram("fanmill").run(arguments, in: folder)
    }
    do {
      try await body(folder)
    } catch {
      _ = try await fanmill("down")
      throw error
    }
    #expect(try await fanmill("down").status == 0)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test("It runs in the background, is found without flags, mends a killed worker, and goes without a trace")
  func life() async throws {
    try await withFolder { folder in
      func fanmill(_ arguments: String...) async throws -> BuiltProgram.Outcome {
        try await BuiltProgram("fanmill").run(arguments, in: folder)
      }
      let up = try await fanmill("up", "--detach", "--api-port", "0", "--migrations", TestStack.migrations, "--json")
      try #require(up.status == 0, "\(up.errors)")
      let stack = try up.json(Up.self)
      #expect(stack.settings["FANMILL_ADMIN_TOKEN"] == nil)
      #expect(stack.youtubeIsStandIn && stack.settings["FANMILL_YOUTUBE_URL"]?.hasPrefix("http://127.0.0.1:") == true)
      #expect(try children(in: folder, named: "fanmill-youtube").count == 1)
      #expect(try await fanmill("up").status == 1)
      #expect(try await fanmill("up", "--detach", "--json").json(Up.self).api == stack.api)
      #expect(try await fanmill("doctor", "--migrations", TestStack.migrations).status == 0)

      // A worker killed with -9 is restarted; the API answers throughout.
      let worker = try #require(try children(in: folder, named: "fanmill-worker").first)
      kill(worker, SIGKILL)
      try await eventually("another worker runs") {
        let now = try children(in: folder, named: "fanmill-worker")
        return now.count == 1 && now != [worker]
      }
      #expect(try await fanmill("jobs", "enqueue", "feed.partitions", "--payload", "{}").status == 0)
      try await eventually("the new worker works") {
        try await fanmill("jobs", "list", "--json").output == "{\"items\":[]}\n"
      }

      let all = try children(in: folder, named: nil)
      #expect(all.count == 5, "Postgres, Redis, the stand-in for YouTube, the API, a worker")
      #expect(try await fanmill("down").status == 0)
      for process in all { #expect(kill(process, 0) != 0, "process \(process) is left") }
      // The stack can no longer be found.
      #expect(try await fanmill("jobs", "list").status == 78)
    }
  }

  @Test("A stack's dashboard takes the token that it was started with and no other, and nobody else can read it")
  func adminToken() async throws {
    try await withFolder { folder in
      let token = "T0-\(UUID().uuidString)"
      let up = try await BuiltProgram("fanmill").run(
        ["up", "--detach", "--api-port", "0", "--migrations", TestStack.migrations, "--json"],
        environment: ["FANMILL_ADMIN_TOKEN": token], in: folder)
      try #require(up.status == 0, "\(up.errors)")
      #expect(!up.output.contains(token) && !up.errors.contains(token))
      let http = LoopbackHTTP(port: try #require(URL(string: try up.json(Up.self).api)?.port))
      func signIn(_ token: String) throws -> Int {
        try http.send(
          "POST", "/admin/sign-in", body: Array("token=\(token)&name=ann".utf8),
          headers: ["Origin": "http://127.0.0.1:\(http.port)"]
        ).status
      }
      #expect(try signIn(token) == 303)
      #expect(try signIn(String(token.dropLast())) == 401)
      #expect(try signIn(token.lowercased()) == 401)
      let job = Array(#"{"payload":{}}"#.utf8)
      #expect(try http.send("POST", "/v1/jobs/feed.partitions", token: token, body: job).status == 202)
      #expect(try http.send("POST", "/v1/jobs/feed.partitions", token: token + "0", body: job).status == 401)
      // Another token has no effect on a running stack.
      let again = try await BuiltProgram("fanmill").run(
        ["up", "--detach"], environment: ["FANMILL_ADMIN_TOKEN": "T1-\(UUID().uuidString)"], in: folder)
      #expect(again.status == 0)
      #expect(try signIn(token) == 303)

      // Of all files on the disk, the servers' included, only one contains the token.
      let stack = folder + "/.fanmill"
      var holders: [String] = []
      for file in try FileManager.default.subpathsOfDirectory(atPath: stack) {
        var found = stat()
        guard lstat(stack + "/" + file, &found) == 0, found.st_mode & S_IFMT == S_IFREG else { continue }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: stack + "/" + file))
        if bytes.range(of: Data(token.utf8)) != nil {
          holders.append("\(file) \(String(found.st_mode & 0o777, radix: 8))")
        }
      }
      #expect(holders == ["env 600"])
      for process in try children(in: folder, named: nil) + [runner(in: folder)] {
        let arguments = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/cmdline"))
        #expect(arguments.range(of: Data(token.utf8)) == nil, "seen by every user of the machine")
      }
    }
  }

  @Test("Killed with -9, it takes all that it started along")
  func killed() async throws {
    try await withFolder { folder in
      let up = try await BuiltProgram("fanmill").run(
        ["up", "--detach", "--api-port", "0", "--migrations", TestStack.migrations], in: folder)
      try #require(up.status == 0, "\(up.errors)")
      let all = try children(in: folder, named: nil)
      #expect(all.count == 5)
      kill(try runner(in: folder), SIGKILL)
      try await eventually("all are gone") { all.allSatisfy { kill($0, 0) != 0 } }
      #expect(try await BuiltProgram("fanmill").run(["jobs", "list"], in: folder).status == 78)
    }
  }

  @Test("A stack that runs gets more workers and fewer; those that go end in order, and one that ends is replaced")
  func scale() async throws {
    try await withFolder { folder in
      func up(_ workers: Int, _ more: String...) async throws -> [Worker] {
        let outcome = try await BuiltProgram("fanmill").run(
          ["up", "--workers", "\(workers)", "--json"] + more, in: folder)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return try outcome.json(Up.self).workers
      }
      let one = try await up(1, "--detach", "--api-port", "0", "--migrations", TestStack.migrations)
      #expect(one.map(\.name) == ["worker-1"])
      let three = try await up(3)
      #expect(three.map(\.name) == ["worker-1", "worker-2", "worker-3"] && three.first == one.first)
      #expect(try children(in: folder, named: "fanmill-worker") == three.map(\.pid).sorted())
      #expect(Set(three.map(\.port)).count == 3)

      // Stopped as in a restart, it is replaced, and the list shows the new one once it can work.
      kill(three[1].pid, SIGTERM)
      try await eventually("another worker-2 can work") {
        let now = try await up(3)
        return now.count == 3 && now[1].name == "worker-2" && now[1].pid != three[1].pid
      }

      #expect(try await up(1) == one)
      #expect(try children(in: folder, named: "fanmill-worker") == one.map(\.pid))
      #expect(try await BuiltProgram("fanmill").run(["up", "--workers", "0"], in: folder).status == 64)
    }
  }

  private func runner(in folder: String) throws -> pid_t {
    let text = try String(contentsOfFile: folder + "/.fanmill/lock", encoding: .utf8)
    return try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  /// The child processes of the folder's stack.
  private func children(in folder: String, named name: String?) throws -> [pid_t] {
    let runner = try runner(in: folder)
    let lists = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(runner)/task").map { thread in
      do {
        return try String(contentsOfFile: "/proc/\(runner)/task/\(thread)/children", encoding: .utf8)
      } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
        // The thread has ended since it was listed.
        return ""
      }
    }
    let all = lists.flatMap { $0.split(separator: " ").compactMap { pid_t($0) } }
    guard let name else { return all.sorted() }
    return all.filter { child in
      do {
        // The kernel keeps 15 characters of a name.
        let found = try String(contentsOfFile: "/proc/\(child)/comm", encoding: .utf8)
        return found.trimmingCharacters(in: .newlines) == name.prefix(15)
      } catch {
        return false
      }
    }.sorted()
  }
}
