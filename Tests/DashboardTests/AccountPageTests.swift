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
      #expect(try await one.get("/admin/accounts?state=suspended").contains("No matching accounts."))

      let suspend = "/admin/accounts/mary/suspend"
      #expect(try await one.post(suspend).status == 422)
      #expect(try await one.post(suspend, [("reason", "spam")]).contains("Suspend mary?"))
      #expect(try await stage.count("SELECT count(*) FROM accounts WHERE suspended_at IS NOT NULL") == 0)
      #expect(try await one.post(suspend, [("reason", "spam")], confirmed: true).status == 303)
      let page = try await one.get("/admin/accounts/mary")
      #expect(page.contains("suspended</span>") && page.contains("spam") && page.contains(">Restore"))
      #expect(try await one.get("/admin/accounts?state=suspended").contains("/admin/accounts/mary"))
      #expect(try await one.post("/admin/accounts/mary/restore").status == 422)
      let back = try await one.post("/admin/accounts/mary/restore", [("reason", "a mistake")])
      #expect(back.location == "/admin/accounts/mary")
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

  @Test("An account is deleted after a question and with a reason")
  func deletion() async throws {
    try await Stage.with { stage in
      try await stage.stack.pool.execute("INSERT INTO accounts (username) VALUES ('mary')")
      let one = try await stage.signIn()
      let delete = "/admin/accounts/mary/delete"
      #expect(try await one.post(delete).status == 422)
      #expect(try await one.post(delete, [("reason", "asked for it")]).contains("Delete mary?"))
      #expect(try await stage.count("SELECT count(*) FROM accounts") == 1)
      #expect(try await one.post(delete, [("reason", "asked for it")], confirmed: true).location == "/admin/accounts")
      #expect(try await stage.count("SELECT count(*) FROM accounts") == 0)
      #expect(try await stage.count("SELECT count(*) FROM jobs WHERE kind = 'accounts.remove'") == 1)
      #expect(try await one.get("/admin/accounts/mary").status == 404)
      #expect(try await stage.actions().contains("accounts.delete mary"))
    }
  }

  @Test("A report is read, and what it is about is taken down after a question and restored")
  func reports() async throws {
    try await Stage.with { stage in
      try await stage.stack.pool.execute(
        """
        WITH people AS (INSERT INTO accounts (username) VALUES ('mary'), ('bob') RETURNING id, username),
          post AS (INSERT INTO posts (id, author_id, title) SELECT 12, id, 'Rude' FROM people WHERE username = 'mary')
        INSERT INTO reports (reporter_id, subject, account_id, reason, text, excerpt)
        SELECT b.id, s.subject, m.id, 'hate', 'look <b>here</b>', 'Rude <i>words</i>'
        FROM people b, people m, (VALUES ('post/12'), ('account/1')) AS s (subject)
        WHERE b.username = 'bob' AND m.username = 'mary'
        """)
      let one = try await stage.signIn()
      let list = try await one.get("/admin/reports")
      #expect(list.contains("post/12") && list.contains("mary") && list.contains("Rude &lt;i&gt;"))
      let page = try await one.get("/admin/reports/1")
      #expect(page.contains("look &lt;b&gt;") && page.contains("Take down") && page.contains("bob"))
      #expect(try await !one.get("/admin/reports/2").contains("Take down"))
      #expect(try await one.get("/admin/reports/99").status == 404)
      #expect(try await one.get("/admin/reports/x").status == 404)
      let resolve = "/admin/reports/1/resolve"
      #expect(try await one.post(resolve, [("as", "taken_down")]).status == 422)
      #expect(try await one.post(resolve, [("as", "burnt"), ("reason", "rude")]).status == 422)
      let fields = [("as", "taken_down"), ("reason", "rude")]
      #expect(try await one.post(resolve, fields).contains("Take down post/12?"))
      #expect(try await stage.count("SELECT count(*) FROM takedowns") == 0)
      #expect(try await one.post(resolve, fields, confirmed: true).location == "/admin/reports")
      #expect(try await stage.count("SELECT count(*) FROM posts WHERE taken_down_at IS NOT NULL") == 1)
      #expect(try await !one.get("/admin/reports").contains("post/12"))
      #expect(try await one.get("/admin/reports?state=all").contains("taken_down"))
      #expect(try await one.post(resolve, fields, confirmed: true).status == 409)
      #expect(try await one.get("/admin/takedowns").contains("post/12"))
      let restore = [("subject", "post/12"), ("reason", "a joke")]
      #expect(try await one.post("/admin/takedowns/restore", restore).location == "/admin/takedowns")
      #expect(try await one.get("/admin/takedowns").contains("Nothing is taken down."))
      let add = "/admin/takedowns/add"
      #expect(try await one.post(add, [("subject", "post/99"), ("reason", "x")], confirmed: true).status == 404)
      #expect(try await one.post(add, [("subject", "nothing"), ("reason", "x")], confirmed: true).status == 422)
      #expect(
        try await stage.actions().filter { $0.contains("post/12") }
          == ["takedowns.restore post/12", "reports.resolve post/12"])
      let reader = try await stage.signIn(Stage.readToken)
      #expect(try await !reader.get("/admin/reports/2").contains("Dismiss"))
      #expect(try await reader.post(add, [("subject", "post/12"), ("reason", "x")], confirmed: true).status == 403)
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
      #expect(try await one.get("/admin/pictures").contains("No matching pictures."))
      #expect(try await one.get("/admin/pictures?owner=nobody").status == 404)
      #expect(try await one.post("/admin/pictures/delete", [("id", Self.picture)]).status == 422)
      let fields = [("id", Self.picture), ("reason", "spam")]
      #expect(try await one.post("/admin/pictures/delete", fields).contains("Delete the picture"))
      #expect(try await one.post("/admin/pictures/delete", fields, confirmed: true).status == 404)
    }
  }
}
