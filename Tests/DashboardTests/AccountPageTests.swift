import LibPQClient
import ProgramTestSupport
import Testing

@Suite("Accounts and pictures") struct AccountPageTests {
  private static let picture = "0123456789abcdef0123456789abcdef"

  @Test("An account is found, suspended after a question, restored, and gets an address")
  func accounts() async throws {
    try await Stage.with { stage in
      try await stage.stack.pool.execute(
        "INSERT INTO accounts (username, name) VALUES ('mary', '<b>Mary</b>'), ('bob', 'Bob')")
      let one = try await stage.signIn()
      let list = try await one.get("/admin/accounts")
      #expect(list.contains("&lt;b&gt;Mary") && list.contains("/admin/accounts/bob"))
      let found = try await one.get("/admin/accounts?query=MA")
      #expect(found.contains("/admin/accounts/mary") && !found.contains("/admin/accounts/bob"))
      #expect(try await one.get("/admin/accounts?state=suspended").contains("No account is like that."))

      let suspend = "/admin/accounts/mary/suspend"
      #expect(try await one.post(suspend).status == 422)
      #expect(try await one.post(suspend, [("reason", "spam")]).contains("Suspend mary?"))
      #expect(try await stage.count("SELECT count(*) FROM accounts WHERE suspended_at IS NOT NULL") == 0)
      #expect(try await one.post(suspend, [("reason", "spam")], confirmed: true).status == 303)
      let page = try await one.get("/admin/accounts/mary")
      #expect(page.contains("suspended</span>") && page.contains("spam") && page.contains(">Restore"))
      #expect(try await one.get("/admin/accounts?state=suspended").contains("/admin/accounts/mary"))
      #expect(try await one.post("/admin/accounts/mary/restore").location == "/admin/accounts/mary")
      #expect(try await one.get("/admin/accounts/mary").contains("active</span>"))

      let email = "/admin/accounts/mary/email"
      #expect(try await one.post(email, [("email", "nowhere")]).status == 422)
      #expect(try await one.post(email, [("email", "Mary@example.org")]).status == 303)
      #expect(try await one.get("/admin/accounts/mary").contains("mary@example.org"))
      #expect(try await one.post("/admin/accounts/bob/email", [("email", "mary@example.org")]).status == 422)
      #expect(try await one.get("/admin/accounts/nobody").status == 404)
      #expect(
        try await stage.actions().filter { $0.hasPrefix("accounts.") }
          == ["accounts.set-email mary", "accounts.restore mary", "accounts.suspend mary"])

      try await stage.stack.pool.execute("UPDATE accounts SET username = 'maria' WHERE username = 'mary'")
      #expect(try await one.get("/admin/accounts/mary").location == "/admin/accounts/maria")
      #expect(try await one.get("/admin/accounts/maria").contains("mary"))
    }
  }

  @Test("Who may only look changes no account")
  func readOnly() async throws {
    try await Stage.with { stage in
      try await stage.stack.pool.execute("INSERT INTO accounts (username) VALUES ('mary')")
      let one = try await stage.signIn(Stage.readToken)
      let page = try await one.get("/admin/accounts/mary")
      #expect(page.status == 200 && !page.contains("Suspend"))
      #expect(try await one.post("/admin/accounts/mary/suspend", [("reason", "spam")], confirmed: true).status == 403)
      #expect(try await one.post("/admin/accounts/mary/email", [("email", "a@b.c")]).status == 403)
      #expect(
        try await one.post("/admin/pictures/delete", [("id", "x"), ("reason", "y")], confirmed: true).status == 403)
      #expect(try await stage.count("SELECT count(*) FROM actions WHERE action LIKE 'accounts.%'") == 0)
    }
  }

  @Test("A picture is listed, and deleted after a question and with a reason")
  func pictures() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      #expect(try await one.get("/admin/pictures").contains("No picture is like that."))
      #expect(try await one.get("/admin/pictures?owner=nobody").status == 404)
      #expect(try await one.post("/admin/pictures/delete", [("id", Self.picture)]).status == 422)
      let fields = [("id", Self.picture), ("reason", "spam")]
      #expect(try await one.post("/admin/pictures/delete", fields).contains("Delete the picture"))
      #expect(try await one.post("/admin/pictures/delete", fields, confirmed: true).status == 404)
    }
  }
}
