import Foundation
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@testable import YouTubeStandIn

/// The built worker and CLI, on the stand-in for YouTube.
@Suite("fanmill lookups, quota", .timeLimit(.minutes(5)))
struct LookupsTests {
  private static let key = "AIzaSyB-secret-of-the-tests-0123456789"
  private static let other = "AIzaSyC-another-secret-of-the-tests-01"

  /// A stack with a worker whose lookups go to a stand-in.
  ///
  /// - Parameter isProxy: makes the stand-in a proxy, for a service whose name does not resolve.
  private func withWorker(
    keys: String = key, searches: Int = 100, isProxy: Bool = false,
    control: StandInControl = StandInControl(configuration: StandInConfiguration()),
    _ body: @Sendable (TestStack, CLI, RunningProgram) async throws -> Void
  ) async throws {
    try await TestStack.with { stack in
      let (ports, port) = AsyncStream.makeStream(of: Int.self)
      let server = StandInServer(control: control, onListening: { port.yield($0) })
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await server.run() }
        for await port in ports {
          var settings = stack.settings.merging([
            "FANMILL_YOUTUBE_URL": "http://127.0.0.1:\(port)", "FANMILL_YOUTUBE_KEYS": keys,
            "FANMILL_YOUTUBE_SEARCHES": "\(searches)", "FANMILL_WORKER_PORT": "0", "FANMILL_SHUTDOWN_TIMEOUT": "1s",
          ]) { $1 }
          if isProxy {
            settings["FANMILL_YOUTUBE_URL"] = "http://youtube.invalid"
            settings["http_proxy"] = "http://127.0.0.1:\(port)"
          }
          let worker = try BuiltProgram("fanmill-worker").start(
            environment: settings.merging(["FANMILL_LOG_LEVEL": "trace"]) { $1 })
          defer { worker.send(SIGKILL) }
          try await body(stack, CLI(settings), worker)
          break
        }
        group.cancelAll()
      }
    }
  }

  private func items(_ outcome: BuiltProgram.Outcome) throws -> [[String: Any]] {
    try outcome.fields()["items"] as? [[String: Any]] ?? []
  }

  @Test("Questions of each form are answered by the service, kept and paid")
  func run() async throws {
    try await withWorker { stack, cli, _ in
      let found = try items(try await cli("lookups", "run", "Some Body", "--json"))
      let id = try #require(found.first?["id"] as? String)
      #expect(found.allSatisfy { $0["title"] is String && $0["url"] is String })
      let byID = try items(try await cli("lookups", "run", "https://www.youtube.com/channel/\(id)", "--json"))
      #expect(byID.map { $0["id"] as? String } == [id])
      let byHandle = try items(try await cli("lookups", "run", "@SomeBody", "--json"))
      #expect((byHandle.first?["handle"] as? String)?.hasPrefix("@") == true)
      #expect(try items(try await cli("lookups", "run", "nobody at all", "--json")).isEmpty)
      // Served from the stored answer, without spending more.
      #expect(try items(try await cli("lookups", "run", "some  body", "--json")).count == found.count)
      let list = try items(try await cli("lookups", "list", "--json"))
      #expect(list.count == 3 && list.allSatisfy { $0["state"] as? String == "done" })
      let lookup = try #require(list.first?["id"] as? String)
      #expect(try await cli("lookups", "show", lookup).output.contains("done"))
      let quota = try items(try await cli("quota", "--json"))
      let budgets = try #require(quota.first?["budgets"] as? [[String: Any]])
      #expect(budgets.map { $0["name"] as? String } == ["searches", "units"])
      #expect(budgets.map { $0["spent"] as? Int } == [2, 1])
      #expect(budgets.map { $0["left"] as? Int } == [98, 9999])
      #expect(try await cli("doctor", "--migrations", TestStack.migrations).output.contains("YouTube budget"))
    }
  }

  @Test("A spent budget is said, a refused key is out of use until it is enabled, and no key is ever printed")
  func trouble() async throws {
    try await withWorker(keys: "\(Self.key),\(Self.other)", searches: 2) { stack, cli, worker in
      var printed = ""
      // Both keys are refused for one query: no key is left.
      let refused = try await cli("lookups", "run", "fault:keyInvalid", status: 1)
      printed += refused.output + refused.errors
      #expect(refused.errors.contains("no_key"))
      let quota = try await cli("quota")
      printed += quota.output
      #expect(quota.output.contains("keyInvalid"))
      let doctor = try await cli("doctor", "--migrations", TestStack.migrations)
      printed += doctor.output
      #expect(doctor.output.contains("fanmill quota enable"))
      printed += try await cli("lookups", "run", "some body", status: 1).errors
      for key in try items(try await cli("quota", "--json")) {
        try await cli("quota", "enable", try #require(key["key"] as? String))
      }
      try await cli("quota", "enable", "nosuchkey", status: 1)
      // Each key has one search left.
      try await cli("lookups", "run", "some body")
      try await cli("lookups", "run", "another body")
      let spent = try await cli("lookups", "run", "third body", status: 1)
      printed += spent.errors
      #expect(spent.errors.contains("spent"))
      let final = try await cli("lookups", "run", "@fault:notFound", status: 1)
      printed += final.errors
      try await cli("lookups", "run", "", status: 65)
      try await cli("lookups", "show", "x", status: 64)
      try await cli("lookups", "show", "\(UUID())", status: 1)
      printed += try await cli("lookups", "list").output + worker.errorsSoFar
      for table in ["lookups", "jobs", "dead_jobs", "youtube_keys", "youtube_quota"] {
        printed += try await stack.pool.query("SELECT \(unescaped: table)::text FROM \(unescaped: table)")
          .decode(String.self).joined()
      }
      #expect(worker.errorsSoFar.contains("which is now disabled"))
      for key in [Self.key, Self.other] { #expect(!printed.contains(key)) }
    }
  }

  @Test("Calls go through the proxy that the environment names")
  func proxy() async throws {
    try await withWorker(isProxy: true) { _, cli, _ in
      let found = try items(try await cli("lookups", "run", "Some Body", "--json"))
      #expect(!found.isEmpty)
    }
  }

  @Test("A worker that is stopped in the middle of a call leaves the lookup to the next")
  func stop() async throws {
    let control = StandInControl(configuration: StandInConfiguration())
    // The first call never ends on its own.
    control.order(StandInControl.Order(fault: .slow, times: 1, seconds: 3600))
    try await withWorker(control: control) { stack, cli, worker in
      async let asked = cli("lookups", "run", "some body", "--json")
      try await eventually("the service is asked") { control.usage.all.search == 1 }
      worker.send(SIGTERM)
      #expect(await worker.outcome().status == 0)
      let next = try BuiltProgram("fanmill-worker").start(environment: cli.settings)
      defer { next.send(SIGKILL) }
      let found = try items(try await asked)
      #expect(!found.isEmpty)
      #expect(control.usage.all.search == 2)
      #expect(try await stack.count("SELECT count(*) FROM lookups WHERE state = 'done'") == 1)
      // An aborted call may still have cost its price.
      #expect(try await stack.count("SELECT sum(spent + reserved)::bigint FROM youtube_quota") == 2)
    }
  }

  @Test("What YouTube said is asked for again before it is too old, and deleted when it is")
  func upkeep() async throws {
    try await withWorker { stack, cli, _ in
      let kept = try items(try await cli("lookups", "run", "@SomeBody", "--json"))
      let gone = try items(try await cli("lookups", "run", "@AnotherBody", "--json"))
      let ids = [kept, gone].compactMap { $0.first?["id"] as? String }
      try #require(ids.count == 2)
      try await stack.pool.execute(
        "UPDATE channels SET title = 'old', fetched_at = now() - interval '27 days' WHERE id = \(ids[0])")
      try await stack.pool.execute("UPDATE channels SET fetched_at = now() - interval '31 days' WHERE id = \(ids[1])")
      try await cli("schedules", "run", "lookups.upkeep")
      try await eventually("one is asked for anew") {
        try await stack.count(
          "SELECT count(*) FROM channels WHERE id = \(ids[0]) AND title <> 'old' AND fetched_at > now() - interval '1 hour'"
        ) == 1
      }
      #expect(try await stack.count("SELECT count(*) FROM channels WHERE id = \(ids[1])") == 0)
    }
  }
}
