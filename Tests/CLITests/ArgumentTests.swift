import Foundation
import ProgramTestSupport
import Testing

@Suite("What every command refuses", .timeLimit(.minutes(5)))
struct ArgumentTests {
  private static let id = "01900000-0000-7000-8000-000000000000"

  @Test(
    "Wrong arguments end with 64 and a line that says what belongs there",
    arguments: [
      (["jobs", "enqueue", "posts.fan-out"], "--payload"),
      (["jobs", "enqueue", "posts.fan-out", "--payload", "{}", "--in", "soon"], "90s, 15m"),
      (["jobs", "enqueue", "posts.fan-out", "--payload", "{}", "--priority", "urgent"], "high"),
      (["jobs", "enqueue", "posts.fan-out", "--payload", "{}", "--timeout", "x"], "--timeout"),
      (["jobs", "list", "--state", "sleeping"], "waiting"), (["jobs", "list", "--limit", "0"], "1 to 100000"),
      (["jobs", "list", "--since", "yesterday"], "--since"), (["jobs", "show"], "id"), (["jobs", "retry"], "id"),
      (["jobs", "cancel"], "id"), (["jobs", "delete"], "id"), (["jobs", "reschedule", id], "--at or --in"),
      (["jobs", "reschedule", id, "--at", "noon"], "ISO 8601"),
      (["jobs", "reschedule", id, "--at", "2030-01-01T00:00:00Z", "--in", "1h"], "give one of them"),
      (["jobs", "kinds", "x"], "x"), (["queues", "show"], "name"), (["queues", "pause"], "name"),
      (["queues", "resume"], "name"), (["queues", "drain"], "name"), (["queues", "clear"], "name"),
      (["queues", "drain", "fanout", "--timeout", "-1"], "--timeout"), (["queues", "stop", "fanout"], "stop"),
      (["workers", "quiet"], "--all"), (["workers", "stop"], "--all"), (["workers", "quiet", "w", "--all"], "--all"),
      (["dead", "retry"], "--all"), (["dead", "delete"], "--all"), (["dead", "delete", id, "--all"], "--all"),
      (["dead", "retry", id, "--kind", "x"], "--kind"), (["dead", "list", "--limit", "x"], "--limit"),
      (["dead", "show"], "id"), (["feed", "show"], "name"), (["feed", "show", "ann", "--limit", "101"], "1 to 100"),
      (["feed", "rebuild"], "--all"), (["feed", "audit", "--examples=-1"], "0 or more"),
      (["notifications", "audit", "--examples", "x"], "--examples"), (["ranking", "show"], "platform"),
      (["ranking", "show", "vine"], "youtube"), (["ranking", "show", "youtube", "--window", "year"], "month"),
      (["ranking", "audit", "--examples=-1"], "0 or more"), (["lookups", "show"], "id"),
      (["lookups", "list", "--state", "x"], "waiting"), (["lookups", "run", "q", "--timeout", "x"], "--timeout"),
      (["quota", "enable"], "label"), (["stats", "--window", "year"], "week"), (["doctor", "x"], "x"),
      (["audit", "x"], "x"), (["bench", "--jobs", "3"], "1000"), (["bench", "--concurrency", "0"], "1 to 1000"),
      (["migrate", "down", "--count", "0"], "1 or more"), (["import"], "--users"), (["export"], "--users"),
      (["accounts", "token"], "name"), (["accounts", "reset"], "name"), (["up", "--workers", "0"], "1 to 64"),
      (["completion"], "shell"),
      (["manual", "nonsense"], "nonsense"), (["top", "--json"], "stats"), (["top", "--every", "0"], "100 ms"),
      (["schedules", "run"], "name"), (["nonsense"], "nonsense"),
    ] as [([String], String)])
  func wrong(arguments: [String], word: String) async throws {
    let outcome = try await BuiltProgram("fanmill").run(arguments, environment: nowhere)
    #expect(outcome.status == 64, "\(arguments): \(outcome.errors)")
    #expect(outcome.errors.localizedCaseInsensitiveContains(word), "\(arguments): \(outcome.errors)")
    #expect(outcome.output.isEmpty)
  }

  @Test(
    "What destroys is refused where nobody can be asked, before anything is done",
    arguments: [
      ["jobs", "cancel", id], ["jobs", "delete", id], ["dead", "delete", id], ["dead", "delete", "--all"],
      ["dead", "delete", "--kind", "posts.fan-out"], ["queues", "clear", "fanout"], ["workers", "stop", "--all"],
    ])
  func unasked(arguments: [String]) async throws {
    let outcome = try await BuiltProgram("fanmill").run(arguments, environment: nowhere)
    #expect(outcome.status == 64, "\(outcome.errors)")
    #expect(outcome.errors.contains("nothing was done") && outcome.errors.contains("--yes"))
    // With --yes it continues until it fails to reach the servers.
    let sure = try await BuiltProgram("fanmill").run(arguments + ["--yes"], environment: nowhere)
    #expect(sure.status == 69, "\(sure.errors)")
  }

  @Test("A live screen needs a terminal")
  func top() async throws {
    let outcome = try await BuiltProgram("fanmill").run(["top"], environment: nowhere)
    #expect(outcome.status == 64 && outcome.errors.contains("needs a terminal"))
  }
}
