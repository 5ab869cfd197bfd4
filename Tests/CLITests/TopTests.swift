import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@Suite("fanmill top", .timeLimit(.minutes(5)))
struct TopTests {
  private static let payload = Array(#"{"post":1,"author":2}"#.utf8)

  /// A stack with a waiting, a dead and a retrying job.
  private func withScene(_ body: @Sendable (TestStack, PseudoTerminal) async throws -> Void) async throws {
    try await TestStack.with { stack in
      let records = (0..<3).map { _ in
        JobRecord(kind: "posts.fan-out", queue: "fanout", payload: Self.payload, isDurable: true)
      }
      _ = try await stack.client.transaction { try await $0.add(records) }
      try await stack.ledger.deadLetter([
        DeadJob(
          record: records[0], attempts: 20,
          failure: JobFailure(
            attempt: 20, at: .init(unixMilliseconds: 1_700_000_000_000), error: "it broke for good", worker: "w"))
      ])
      let now = Int64(Date().timeIntervalSince1970 * 1000)
      try await stack.ledger.recordFailures(
        [
          FailedJob(
            id: records[1].id,
            failure: JobFailure(attempt: 1, at: .init(unixMilliseconds: now), error: "it broke 한글", worker: "w"),
            runAt: .init(unixMilliseconds: now + 3_600_000))
        ], queue: "fanout")
      let terminal = try PseudoTerminal(["top", "--every", "0.1s"], environment: stack.settings)
      try await eventually("it is seen") { terminal.screen.text.contains("it broke for good") }
      try await body(stack, terminal)
      #expect(terminal.screen.unknown.isEmpty, "\(terminal.screen.unknown)")
    }
  }

  /// Moves down until `line` is chosen, which the footer names.
  private func choose(_ what: String, on terminal: PseudoTerminal) async throws {
    terminal.type(String(repeating: "k", count: 100))
    try await eventually("the first is chosen") { foot(terminal).hasPrefix("queue default") }
    try await eventually("\(what) is chosen") {
      if foot(terminal).hasPrefix(what) { return true }
      let before = foot(terminal)
      terminal.type("\u{1B}[B")
      try await eventually("it moves") { foot(terminal) != before }
      return foot(terminal).hasPrefix(what)
    }
  }

  private func foot(_ terminal: PseudoTerminal) -> String { terminal.screen.lines.dropLast().last ?? "" }

  @Test("It fits 80×24, and 60×15 after a change of size, and gives the terminal back as it was")
  func life() async throws {
    try await withScene { _, terminal in
      #expect(terminal.screen.isAlternate && !terminal.screen.isCursorShown && !terminal.isCooked)
      let lines = terminal.screen.lines
      #expect(lines[0].hasPrefix(" fanmill top") && lines[23].contains("q quit"))
      for word in ["fanout-bulk", "notifications", "no worker is running", "retrying", "한글"] {
        #expect(terminal.screen.text.contains(word), "\(word) is not in\n\(terminal.screen.text)")
      }
      terminal.resize(columns: 60, rows: 15)
      // A frame started before the resize is too long: the terminal scrolls and shows only its last lines.
      try await eventually("it is drawn anew") {
        let screen = terminal.screen
        return screen.lines[0].hasPrefix(" fanmill top") && screen.lines.last?.contains("Tab next part") == true
          && screen.text.contains("it broke for")
      }
      terminal.type("q")
      #expect(await terminal.status() == 0)
      try await eventually("the terminal is back") { !terminal.screen.isAlternate && terminal.screen.isCursorShown }
      #expect(terminal.isCooked)
    }
  }

  @Test("A signal ends it, and the terminal is as it was", arguments: [SIGTERM, SIGHUP, SIGINT])
  func signals(signal: Int32) async throws {
    try await withScene { _, terminal in
      terminal.send(signal)
      #expect(await terminal.status() == 0)
      try await eventually("the terminal is back") { !terminal.screen.isAlternate && terminal.screen.isCursorShown }
      #expect(terminal.isCooked)
    }
  }

  @Test("p pauses and resumes a queue")
  func pause() async throws {
    try await withScene { stack, terminal in
      try await choose("queue fanout", on: terminal)
      terminal.type("p")
      try await eventually("it is paused") { try await stack.count("SELECT count(*) FROM queue_pauses") == 1 }
      try await eventually("it is shown so") {
        terminal.screen.lines.contains { $0.hasPrefix("fanout ") && $0.hasSuffix("paused") }
      }
      terminal.type("p")
      try await eventually("it is resumed") { try await stack.count("SELECT count(*) FROM queue_pauses") == 0 }
      // The message appears a moment after the action; until then another message would be overwritten.
      try await eventually("it says so") { foot(terminal).contains("is resumed") }
      terminal.type("r")
      try await eventually("it says that r is for failures") { foot(terminal).contains("r retries a failed job") }
      terminal.type("\u{3}")
      #expect(await terminal.status() == 0)
    }
  }

  @Test("r retries a dead job; c cancels one that is tried again, once the question is answered with yes")
  func jobs() async throws {
    try await withScene { stack, terminal in
      let id = try await stack.pool.query("SELECT id::text FROM dead_jobs")[0].decode(String.self)
      try await choose("job \(id)", on: terminal)
      terminal.type("r")
      try await eventually("it is pending again") { try await stack.count("SELECT count(*) FROM dead_jobs") == 0 }

      let retrying = try await stack.pool.query("SELECT id::text FROM jobs WHERE run_at IS NOT NULL")[0].decode(
        String.self)
      try await choose("job \(retrying)", on: terminal)
      terminal.type("c")
      try await eventually("it asks") { foot(terminal).contains("[y/N]") }
      terminal.type("n")
      try await eventually("it lets be") { foot(terminal).contains("nothing was done") }
      terminal.type("c")
      try await eventually("it asks again") { foot(terminal).contains("[y/N]") }
      terminal.type("y")
      try await eventually("it is cancelled") {
        try await stack.pool.query("SELECT FROM jobs WHERE id::text = \(retrying)").isEmpty
      }
      terminal.type("q")
      #expect(await terminal.status() == 0)
    }
  }
}
