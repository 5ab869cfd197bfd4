import Foundation
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@Suite("fanmill on a terminal", .timeLimit(.minutes(5)))
struct TerminalTests {
  @Test("A table is as wide as the terminal, which wide columns are shortened for, and ids never")
  func width() async throws {
    try await TestStack.with { stack in
      let payload = #"{"post":1,"author":2}"#
      try await CLI(stack)("jobs", "enqueue", "posts.fan-out", "--payload", payload)
      let ids = try await stack.pool.query("SELECT id::text FROM jobs").decode(String.self)
      for columns in [60, 80, 200] {
        let terminal = try PseudoTerminal(["jobs", "list"], environment: stack.settings, columns: columns, rows: 10)
        #expect(await terminal.status() == 0)
        try await eventually("it is seen") { terminal.screen.text.contains(ids[0]) }
        let lines = terminal.screen.lines.filter { !$0.isEmpty }
        #expect(lines.count == 2, "\(lines)")
      }
      // Without a terminal nothing is cut off, unless COLUMNS is set.
      let whole = try await CLI(stack)("jobs", "list")
      #expect(!whole.output.contains("…"))
      let narrow = try await CLI(stack.settings.merging(["COLUMNS": "60"]) { $1 })("jobs", "list")
      #expect(narrow.output.split(separator: "\n").allSatisfy { $0.count <= 60 }, "\(narrow.output)")
    }
  }

  @Test("Colours are for terminals alone, and not where NO_COLOR or TERM=dumb asks for none")
  func colors() async throws {
    try await TestStack.with { stack in
      func isColored(_ environment: [String: String]) async throws -> Bool {
        let terminal = try PseudoTerminal(
          ["schedules", "list"], environment: stack.settings.merging(environment) { $1 }, columns: 120)
        try await CLI(stack)("schedules", "pause", "sessions.sweep")
        #expect(await terminal.status() == 0)
        try await eventually("it is seen") { terminal.screen.text.contains("sessions.sweep") }
        return terminal.screen.hasColors
      }
      try await CLI(stack)("schedules", "pause", "sessions.sweep")
      #expect(try await isColored([:]))
      #expect(try await !isColored(["NO_COLOR": "1"]))
      #expect(try await !isColored(["TERM": "dumb"]))
      #expect(try await !CLI(stack)("schedules", "list").output.contains("\u{1B}"))
    }
  }

  @Test("What destroys asks, and does nothing unless the answer is yes", arguments: ["n", "", "yes"])
  func question(answer: String) async throws {
    let settings = ["FANMILL_POSTGRES_URL": try await TestStack.emptyDatabase(template: true)]
    let terminal = try PseudoTerminal(
      ["migrate", "down", "--migrations", TestStack.migrations], environment: settings, columns: 120)
    try await eventually("it asks") { terminal.screen.text.contains("? [y/N]") }
    terminal.type(answer + "\n")
    #expect(await terminal.status() == (answer == "yes" ? 0 : 1))
    let after = try await CLI(settings)("migrate", "status", "--migrations", TestStack.migrations)
    #expect(after.output.contains("not yet") == (answer == "yes"))
  }
}
