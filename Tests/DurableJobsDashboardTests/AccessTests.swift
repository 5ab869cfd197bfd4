import DurableJobsAdmin
import DurableJobsDashboard
import HTTPTypes
import Hummingbird
import JobsTestSupport
import Locking
import ProgramTestSupport
import Testing
import TestSupport

@Suite("Who may do what") struct AccessTests {
  private static let pages = [
    "", "/queues", "/jobs", "/dead", "/workers", "/schedules", "/actions", "/reports",
  ]
  private static let actions = [
    "/queues/invoices/pause", "/queues/invoices/clear", "/dead", "/workers/stop", "/schedules/run", "/reports/clear",
  ]

  @Test("Whom the closure does not let in gets its answer, whatever is asked for")
  func strangers() async throws {
    try await OpsProgram.with { program in
      let (stranger, mallory) = (Browser(program, user: nil), Browser(program, user: "mallory"))
      for path in Self.pages + ["/nothing"] {
        let led = try await stranger.get("/ops" + path)
        #expect(
          led.status == 303 && led.location == "/sign-in" && led.headers[.contentSecurityPolicy] != nil, "\(path)")
        let refused = try await mallory.get("/ops" + path)
        #expect(refused.status == 403 && refused.contains("No access"), "\(path)")
        #expect(!refused.contains("<nav") && !refused.contains("class=\"button\""), "\(path)")
      }
      for path in Self.actions + ["/nothing"] {
        #expect(try await stranger.post("/ops" + path, [("confirmed", "yes")]).location == "/sign-in", "\(path)")
        #expect(try await mallory.post("/ops" + path, [("confirmed", "yes")]).status == 403, "\(path)")
      }
      // A page's assets are public.
      #expect(try await stranger.get("/ops/assets/style.css").status == 200)
      #expect(try await ActionLog(program.stack.database).page().items.isEmpty)
      #expect(program.reports.reports.withLock { $0.count } == 2)
    }
  }

  @Test("A closure that throws is answered as its error says")
  func thrown() async throws {
    try await OpsProgram.with { program in
      let limited = DashboardRefusal(.tooManyRequests, "Slow down", "Try again in a minute.", retryAfter: 60)
      let dashboard = try program.dashboard()
      let router = Router(context: OpsContext.self)
      dashboard.mount(on: router, at: "/ops") { _, _ in throw limited }
      let response = try await router.buildResponder().respond(
        to: Request(
          head: HTTPRequest(method: .get, scheme: "http", authority: "ops.test", path: "/ops"),
          body: RequestBody(buffer: ByteBuffer())),
        context: OpsContext(source: OpsContext.Source(logger: .quiet)))
      #expect(response.status == .tooManyRequests && response.headers[.retryAfter] == "60")
    }
  }

  @Test("A visitor who may look finds no action, and every one is refused")
  func look() async throws {
    try await OpsProgram.with { program in
      try await program.addJobs()
      let (ann, bob) = (Browser(program), Browser(program, user: "bob"))
      for path in Self.pages {
        let page = try await bob.get("/ops" + path)
        #expect(
          page.status == 200 && !page.contains("method=\"post\"") && !page.contains("type=\"checkbox\""), "\(path)")
      }
      #expect(try await ann.get("/ops/reports").contains("action=\"/ops/reports/clear\""))
      // His token is valid, his role is not: none of his pages shows a token.
      let token = try #require(bob.formCookie)
      for path in Self.actions {
        let reply = try await bob.post("/ops" + path, [("form", token), ("confirmed", "yes"), ("do", "delete-all")])
        #expect(reply.status == 403 && reply.contains("Read-only access"), "\(path)")
      }
      #expect(try await ActionLog(program.stack.database).page().items.isEmpty)
      #expect(program.reports.reports.withLock { $0.count } == 2)
    }
  }

  @Test("A form without the visitor's token changes nothing")
  func formTokens() async throws {
    try await OpsProgram.with { program in
      let (one, other) = (Browser(program), Browser(program))
      let token = try #require(try await one.get("/ops/reports").formToken)
      let foreign = try #require(try await other.get("/ops/reports").formToken)
      #expect(token.utf8.count == 64 && token != foreign)
      for path in Self.actions {
        for fields in [[], [("form", "")], [("form", "wrong")], [("form", foreign)]] {
          let reply = try await one.post("/ops" + path, fields + [("confirmed", "yes")])
          #expect(reply.status == 403 && reply.contains("This form is not yours"), "\(path) \(fields)")
        }
        for origin in ["https://evil.example", "null", "http://ops.test.evil.example", nil] {
          let reply = try await one.post("/ops" + path, [("form", token), ("confirmed", "yes")], origin: origin)
          #expect(reply.status == 403 && reply.contains("This form came from another site"), "\(path)")
        }
      }
      #expect(try await ActionLog(program.stack.database).page().items.isEmpty)
      #expect(program.reports.reports.withLock { $0.count } == 2)
      // A browser without the cookie has no token either.
      let fresh = Browser(program)
      #expect(try await fresh.post("/ops/reports/clear", [("form", token), ("confirmed", "yes")]).status == 403)
    }
  }

  @Test("With its token an action asks, does what it says, and the next page says it once")
  func act() async throws {
    try await OpsProgram.with { program in
      let ann = Browser(program)
      let page = try await ann.get("/ops/reports")
      let token = try #require(page.formToken)
      let question = try await ann.post("/ops/reports/clear", [("form", token), ("why", "old & <b>")])
      #expect(question.status == 200 && question.contains("Clear the reports?") && question.formToken == token)
      #expect(question.contains("name=\"why\" value=\"old &amp; &lt;b&gt;\""))
      #expect(program.reports.reports.withLock { $0.count } == 2)
      let done = try await ann.post("/ops/reports/clear", [("form", token), ("confirmed", "yes")])
      #expect(done.status == 303 && done.location == "/ops/reports")
      #expect(program.reports.reports.withLock { $0.isEmpty })
      #expect(try await ann.get("/ops/reports").contains("ann cleared “all” reports."))
      #expect(try await !ann.get("/ops/reports").contains("cleared"))
      // The queue's own actions are recorded under the visitor's name.
      #expect(try await ann.post("/ops/queues/invoices/pause", [("form", token)]).status == 303)
      let noted = try await ActionLog(program.stack.database).page().items
      #expect(noted.map { "\($0.actor) \($0.action) \($0.subject)" } == ["ann queues.pause invoices"])
    }
  }

  @Test(
    "Its cookies go to its own path and to no script, and over TLS alone where that is known", arguments: [false, true])
  func cookies(isSecure: Bool) async throws {
    var configuration = Dashboard.Configuration()
    if isSecure { configuration.url = "https://ops.example.org/behind/a/proxy" }
    try await OpsProgram.with(configuration: configuration) { program in
      let ann = Browser(program)
      let page = try await ann.get("/ops/reports")
      let origin = isSecure ? "https://ops.example.org" : "http://ops.test"
      let fields = [("form", try #require(page.formToken)), ("confirmed", "yes")]
      let done = try await ann.post("/ops/reports/clear", fields, origin: origin)
      let shown = try await ann.get("/ops/reports")
      let cookies = [page, done, shown].flatMap { $0.headers[values: .setCookie] }
      #expect(
        cookies.map { String($0.prefix { $0 != "=" }) } == [
          "dashboard_form", "dashboard_notice", "dashboard_acted", "dashboard_notice",
        ])
      for cookie in cookies {
        for part in ["; Path=/ops;", "; HttpOnly", "; SameSite=Strict"] { #expect(cookie.contains(part), "\(cookie)") }
        #expect(cookie.contains("; Secure") == isSecure, "\(cookie)")
      }
      if isSecure {
        let reply = try await ann.post("/ops/reports/clear", fields, origin: "http://ops.test")
        #expect(reply.status == 403 && reply.contains("https://ops.example.org."))
      }
    }
  }

  @Test("A stream of live updates ends when the closure lets the visitor in no more")
  func live() async throws {
    try await OpsProgram.with { program in
      let response = try await Browser(program).open("/ops")
      #expect(response.status == .ok)
      let (parts, part) = AsyncStream.makeStream(of: String.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await response.body.write(StreamCollector(part: part))
          part.finish()
        }
        var events = 0
        for await text in parts where text.hasPrefix("event: page\n") {
          #expect(text.contains("href=\"/ops/workers\""))
          events += 1
          program.roles.withLock { $0["ann"] = nil }
        }
        #expect(events >= 1)
        try await group.waitForAll()
      }
    }
  }
}

private struct StreamCollector: ResponseBodyWriter {
  let part: AsyncStream<String>.Continuation

  func write(_ buffer: ByteBuffer) async throws {
    part.yield(String(decoding: buffer.readableBytesView, as: UTF8.self))
  }
  func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
