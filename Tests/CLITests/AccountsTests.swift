import Foundation
import LibPQClient
import ProgramTestSupport
import Testing

@Suite("fanmill accounts", .timeLimit(.minutes(5)))
struct AccountsTests {
  @Test("An imported account gets an address, and whoever has it already keeps it")
  func email() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann'), ('bob')")
      let set = try await cli("accounts", "set-email", "ann", "Ann@Example.org", "--json").fields()
      #expect(set["email"] as? String == "ann@example.org" && set["hasPassword"] as? Bool == false)
      let taken = try await cli("accounts", "set-email", "bob", "ann@example.org", status: 1)
      #expect(taken.errors.contains("an account has this email address already"))
      let wrong = try await cli("accounts", "set-email", "bob", "nowhere", status: 1)
      #expect(wrong.errors.contains("ann@example.org"), "the rule says what an address looks like")
      let nobody = try await cli("accounts", "set-email", "eve", "eve@example.org", status: 1)
      #expect(nobody.errors.contains("there is no account 'eve'"))
      #expect(try await stack.count("SELECT count(*) FROM actions WHERE action = 'accounts.set-email'") == 1)
    }
  }

  @Test("Nobody signs in to a suspended account until it is restored")
  func suspension() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann'), ('bob')")
      try await cli("accounts", "token", "ann")
      try await cli("accounts", "suspend", "ann", status: 64)
      let suspended = try await cli("accounts", "suspend", "ann", "--reason", "spam", "--json").fields()
      #expect(suspended["state"] as? String == "suspended" && suspended["sessions"] as? Int == 0)
      #expect(suspended["reason"] as? String == "spam")
      #expect(try await stack.count("SELECT count(*) FROM sessions") == 0)
      let refused = try await cli("accounts", "token", "ann", status: 1)
      #expect(refused.errors.contains("suspended"))
      func names(_ outcome: BuiltProgram.Outcome) throws -> [String?] {
        (try outcome.fields()["items"] as? [[String: Any]] ?? []).map { $0["username"] as? String }
      }
      #expect(try names(try await cli("accounts", "list", "--json")) == ["bob", "ann"])
      #expect(try names(try await cli("accounts", "list", "--suspended", "--json")) == ["ann"])
      #expect(try names(try await cli("accounts", "list", "--query", "B", "--json")) == ["bob"])
      #expect(try names(try await cli("accounts", "list", "--query", "_", "--json")) == [])
      try await cli("accounts", "restore", "ann")
      try await cli("accounts", "token", "ann")
    }
  }

  /// Whoever is slower finds what the other did: never a session of a suspended account.
  @Test("A session that is opened while its account is suspended does not last")
  func race() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      for _ in 0..<5 {
        async let suspended = cli("accounts", "suspend", "ann", "--reason", "spam")
        async let token = BuiltProgram("fanmill").run(["accounts", "token", "ann"], environment: stack.settings)
        _ = try await (suspended, token)
        #expect(try await stack.count("SELECT count(*) FROM sessions") == 0)
        try await cli("accounts", "restore", "ann")
      }
    }
  }

  @Test("An account is found by the name it has, and told by the one that it had")
  func names() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      try await stack.pool.execute("UPDATE accounts SET username = 'anna'")
      let shown = try await cli("accounts", "show", "anna")
      #expect(shown.output.contains("former names") && shown.output.contains("ann"))
      let moved = try await cli("accounts", "show", "ann", status: 1)
      #expect(moved.errors.contains("the account 'ann' is called 'anna' now"))
    }
  }
}
