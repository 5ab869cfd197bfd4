import DurableJobs
import DurableJobsAdmin
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient
import Locking
import ProgramTestSupport
import Social
import SocialAdmin
import Testing

@testable import DurableJobsDashboard

/// Covers every route, so that a new one cannot be forgotten.
@Suite("What stands before every route") struct GuardTests {
  private func path(_ route: DashboardRoutes.Route) -> String {
    // Reports and webhooks have numbers, jobs UUIDs.
    let isNumbered = route.path.hasPrefix("reports/") || route.path.hasPrefix("webhooks/")
    let id = isNumbered ? "1" : "0190c3a0-0000-7000-8000-000000000001"
    let path = route.path.replacing("{queue}", with: "fanout").replacing("{id}", with: id).replacing(
      "{name}", with: "mary")
    return path.isEmpty ? "/admin" : "/admin/" + path
  }

  @Test("A form is the only way to change something, and nothing but the sign-in form and the looks is open")
  func list() async throws {
    try await Stage.with(isRunning: false) { stage in
      let routes = stage.routes
      #expect(Set(routes.map { "\($0.method) \($0.path)" }).count == routes.count)
      for route in routes {
        switch route.access {
        case .open: #expect(route.path == "sign-in" || (route.method == .get && route.path.hasPrefix("assets/")))
        case .read: #expect(route.method == .get)
        case .form: #expect(route.method == .post && route.path == "sign-out")
        case .act: #expect(route.method == .post)
        }
      }
      #expect(routes.count { $0.access == .act } >= 13)
    }
  }

  @Test("Without a session a page leads to the sign-in form, and a form is refused")
  func strangers() async throws {
    try await Stage.with(isRunning: false) { stage in
      for route in stage.routes where route.access != .open {
        for cookie in [nil, "not a session", String(repeating: "A", count: 43)] {
          let reply = try await stage.send(route.method, path(route), cookie: cookie)
          if route.method == .get {
            #expect(reply.status == 303 && reply.location?.hasPrefix("/admin/sign-in") == true, "\(route.path)")
          } else {
            #expect(reply.status == 401, "\(route.path)")
          }
        }
      }
      let live = try await stage.send(.get, "/admin/queues", headers: [.accept: "text/event-stream"])
      #expect(live.status == 401)
      #expect(try await stage.actions().isEmpty)
    }
  }

  @Test("A form of another site, or without the session's token, changes nothing")
  func forgery() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      let other = try await stage.signIn()
      for route in stage.routes where route.method == .post && route.access != .open {
        let path = path(route)
        let right = Stage.encode([("form", one.formToken), ("confirmed", "yes")])
        for origin in ["https://evil.example", "null", "http://dashboard.test.evil.example", nil] {
          #expect(
            try await stage.send(.post, path, cookie: one.cookie, origin: origin, body: right).status == 403, "\(path)")
        }
        for token in ["", "wrong", other.formToken, one.cookie] {
          let body = Stage.encode([("form", token), ("confirmed", "yes")])
          #expect(try await stage.send(.post, path, cookie: one.cookie, body: body).status == 403, "\(path)")
        }
        #expect(try await stage.send(.post, path, cookie: one.cookie).status == 403, "\(path)")
        // A token in the query does not count as the form's.
        let query = "\(path)?\(right)"
        #expect(try await stage.send(.post, query, cookie: one.cookie).status == 403, "\(path)")
      }
      #expect(try await stage.actions().isEmpty)
      // Both are still signed in.
      #expect(try await one.get("/admin/queues").status == 200)
      let fetched = try await stage.send(
        .post, "/admin/sign-out", cookie: one.cookie, origin: nil, body: Stage.encode([("form", one.formToken)]),
        headers: [.fetchSite: "same-origin"])
      #expect(fetched.status == 303)
    }
  }

  @Test("With the read-only token every action is refused, and no page offers one")
  func readOnly() async throws {
    try await Stage.with { stage in
      let ids = try await stage.owe(2)
      try await stage.deadLetter(2)
      try await stage.stack.pool.execute("INSERT INTO accounts (username) VALUES ('mary')")
      try await stage.stack.pool.execute(
        """
        INSERT INTO reports (reporter_id, subject, account_id, reason, text, excerpt)
        VALUES (1, 'post/12', 1, 'spam', '', 'buy')
        """)
      _ = try await WebhookAdmin(stage.stack.database).add(
        "https://hooks.example.org/in", events: ["post.created"], allowsPrivate: false,
        secrets: WebhookSecrets(secret: "a key of the tests, 32 characters or more"), by: .terminal)
      let noted = try await stage.actions().count
      let reader = try await stage.signIn(Stage.readToken)
      for route in stage.routes where route.access == .act {
        for fields in [[], [("name", Stage.schedule.rawValue), ("do", "delete-all"), ("at", "2030-01-01T00:00")]] {
          let reply = try await reader.post(path(route), fields, confirmed: true)
          #expect(reply.status == 403 && reply.contains("Read-only access"), "\(route.path)")
        }
      }
      #expect(try await stage.actions().count == noted)
      #expect(try await stage.count("SELECT count(*) FROM dead_jobs") == 2)
      let pages = stage.routes.filter { $0.access == .read && $0.path != "jobs/find" }
      for route in pages {
        let path = path(route).replacing("0190c3a0-0000-7000-8000-000000000001", with: ids[0].description)
        let reply = try await reader.get(path)
        #expect(reply.status == 200, "\(path) \(reply.status)")
        let forms = reply.text.components(separatedBy: "<form method=\"post\"").dropFirst()
        #expect(forms.count == 1 && forms.first?.hasPrefix(" action=\"/admin/sign-out\"") == true, "\(path)")
        #expect(!reply.contains("type=\"checkbox\""), "\(path)")
      }
    }
  }

  @Test("Every answer says what the browser may do with it")
  func headers() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      var replies: [(String, Stage.Reply)] = []
      for route in stage.routes where route.path != "sign-out" {
        replies.append(
          ("\(route.method) \(route.path)", try await stage.send(route.method, path(route), cookie: one.cookie)))
        replies.append(("\(route.method) \(route.path) by nobody", try await stage.send(route.method, path(route))))
      }
      replies.append(("no page", try await one.get("/admin/nothing/here")))
      replies.append(("no job", try await one.get("/admin/jobs/0190c3a0-0000-7000-8000-000000000001")))
      replies.append(("live", try await headersAlone(of: "/admin", one)))
      for (what, reply) in replies {
        let policy = try #require(reply.headers[.contentSecurityPolicy], "\(what)")
        #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "\(what)")
        #expect(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "\(what)")
        #expect(reply.headers[.xContentTypeOptions] == "nosniff", "\(what)")
        for (name, value) in [("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin")] {
          #expect(reply.headers[try #require(HTTPField.Name(name))] == value, "\(what)")
        }
        let isLooks = what.contains(" assets/")
        #expect(reply.headers[.cacheControl] == (isLooks ? "public, max-age=86400" : "no-store"), "\(what)")
        // The pages contain nothing that the policy would block.
        if reply.headers[.contentType]?.hasPrefix("text/html") == true {
          for word in ["<script>", "<style", " style=", " onclick=", " onload=", "javascript:"] {
            #expect(!reply.contains(word), "\(what) has \(word)")
          }
        }
      }
    }
  }

  private func headersAlone(of path: String, _ one: SignedIn) async throws -> Stage.Reply {
    let response = try await one.stage.open(path, cookie: one.cookie)
    return Stage.Reply(status: response.status.code, headers: response.headers, text: "")
  }

  @Test("Where Postgres is away, a page says so")
  func away() async throws {
    try await Stage.with(isRunning: false) { stage in
      let one = try await stage.signIn()
      try await stage.stack.pool.execute("ALTER TABLE admin_sessions RENAME TO away")
      let broken = try await one.get("/admin/queues")
      #expect(broken.status == 500 && broken.contains("Internal error") && !broken.contains("away"))
      #expect(broken.headers[.contentSecurityPolicy] != nil)
    }
  }
}
