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
      #expect(taken.errors.contains("an account already has this email address"))
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
      try await cli("accounts", "restore", "ann", "--reason", "a mistake")
      try await cli("accounts", "token", "ann")
    }
  }

  @Test("An account is deleted after a question and with a reason")
  func deletion() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      try await cli("accounts", "delete", "ann", "--yes", status: 64)
      let asked = try await cli("accounts", "delete", "ann", "--reason", "asked for it", status: 64)
      #expect(asked.errors.contains("pass --yes to skip the confirmation"))
      #expect(try await stack.count("SELECT count(*) FROM accounts") == 1)
      let gone = try await cli("accounts", "delete", "ann", "--reason", "asked for it", "--yes", "--json").fields()
      #expect(gone["username"] as? String == "ann")
      #expect(try await stack.count("SELECT count(*) FROM accounts") == 0)
      #expect(try await stack.count("SELECT count(*) FROM jobs WHERE kind = 'accounts.remove'") == 1)
      let again = try await cli("accounts", "delete", "ann", "--reason", "x", "--yes", status: 1)
      #expect(again.errors.contains("there is no account 'ann'"))
    }
  }

  @Test("A report is read and closed, and what it is about is down until it is restored")
  func reports() async throws {
    try await TestStack.with { stack in
      let cli = CLI(stack)
      #expect(try await cli("reports", "list").output.contains("there are no reports"))
      #expect(try await cli("takedowns", "list").output.contains("nothing is taken down"))
      try await stack.pool.execute(
        """
        WITH people AS (INSERT INTO accounts (username) VALUES ('ann'), ('bob') RETURNING id, username),
          post AS (INSERT INTO posts (id, author_id, title) SELECT 12, id, 'Rude' FROM people WHERE username = 'ann')
        INSERT INTO reports (reporter_id, subject, account_id, reason, text, excerpt)
        SELECT b.id, 'post/12', a.id, 'hate', '', 'Rude' FROM people b, people a
        WHERE b.username = 'bob' AND a.username = 'ann'
        """)
      #expect(try await cli("reports", "list").output.contains("post/12"))
      #expect(try await cli("reports", "show", "1").output.contains("Rude"))
      #expect(try await cli("reports", "show", "9", status: 1).errors.contains("there is no report 9"))
      try await cli("reports", "resolve", "1", "--as", "taken_down", status: 64)
      try await cli("reports", "resolve", "1", "--as", "burnt", "--reason", "rude", status: 64)
      let closed = try await cli("reports", "resolve", "1", "--as", "taken_down", "--reason", "rude", "--json").fields()
      #expect(closed["resolution"] as? String == "taken_down")
      let again = try await cli("reports", "resolve", "1", "--as", "dismissed", "--reason", "x", status: 1)
      #expect(again.errors.contains("the report 1 is closed: taken_down"))
      #expect(try await cli("reports", "list", "--all").output.contains("taken_down"))
      #expect(try await cli("takedowns", "list").output.contains("post/12"))
      try await cli("takedowns", "restore", "post/12", "--reason", "a joke")
      #expect(try await stack.count("SELECT count(*) FROM posts WHERE taken_down_at IS NULL") == 1)
      #expect(
        try await cli("takedowns", "add", "post/12", "--reason", "no joke").output.contains("post/12 is taken down"))
      #expect(try await cli("takedowns", "add", "post/13", "--reason", "x", status: 1).errors.contains("no such post"))
      let nothing = try await cli("takedowns", "add", "nothing", "--reason", "x", status: 64)
      #expect(nothing.errors.contains("comment/12/34"))
      #expect(try await cli("takedowns", "add", "account/1", "--reason", "x", status: 1).errors.contains("suspend an"))
      #expect(try await stack.count("SELECT count(*) FROM notices") == 3)
    }
  }

  /// Whichever is slower finds the result of the other: a suspended account never has a session.
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
        try await cli("accounts", "restore", "ann", "--reason", "a mistake")
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
      #expect(moved.errors.contains("the account 'ann' is now called 'anna'"))
    }
  }
}
