import DurableJobs
import DurableJobsAdmin
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient
import Locking
import NIOCore
import ProgramTestSupport
import Social
import TestSupport
import Testing

@testable import DurableJobsDashboard
@testable import SocialDashboard

@Suite("Signing in and out") struct SignInTests {
  @Test("Without an admin token it is closed, and says what to set")
  func closed() async throws {
    try await Stage.with(isOpen: false) { stage in
      for path in ["/admin", "/admin/jobs", "/admin/sign-in", "/admin/nothing"] {
        let reply = try await stage.send(.get, path)
        #expect(reply.status == 403 && reply.contains("FANMILL_ADMIN_TOKEN"), "\(path)")
        #expect(reply.headers[.contentSecurityPolicy] != nil)
      }
      let body = Stage.encode([("token", Stage.token)])
      #expect(try await stage.send(.post, "/admin/sign-in", body: body).status == 403)
      #expect(try await stage.send(.post, "/admin/sign-in", body: "token=").status == 403)
      // The style sheet is served all the same.
      #expect(try await stage.send(.get, "/admin/assets/style.css").status == 200)
    }
  }

  @Test("The right token opens a session whose cookie no script and no other site gets")
  func cookie() async throws {
    try await Stage.with { stage in
      let reply = try await stage.send(.post, "/admin/sign-in", body: Stage.encode([("token", Stage.token)]))
      #expect(reply.status == 303 && reply.location == "/admin")
      let cookie = try #require(reply.headers[.setCookie])
      for part in ["HttpOnly", "SameSite=Strict", "Path=/admin", "Max-Age=43200"] { #expect(cookie.contains(part)) }
      #expect(!cookie.contains("Secure"))
    }
    try await Stage.with(url: "https://ops.example.org/") { stage in
      let body = Stage.encode([("token", Stage.token)])
      let other = try await stage.send(.post, "/admin/sign-in", origin: "https://evil.example", body: body)
      #expect(other.status == 403)
      let reply = try await stage.send(.post, "/admin/sign-in", origin: "https://ops.example.org", body: body)
      #expect(reply.headers[.setCookie]?.hasSuffix("; Secure") == true)
    }
  }

  @Test("A wrong token opens nothing, and few are let try")
  func limit() async throws {
    try await Stage.with { stage in
      let wrong = Stage.encode([("token", Stage.token + "x")])
      for _ in 1..<AttemptLimit.adminToken.limit {
        let reply = try await stage.send(.post, "/admin/sign-in", body: wrong)
        #expect(reply.status == 401 && reply.headers[.setCookie] == nil)
        #expect(reply.contains("Wrong token."))
      }
      // A valid token in between is not counted and resets nothing: a holder of the read token may be guessing the
      // other.
      for _ in 0..<3 { _ = try await stage.signIn(Stage.readToken) }
      #expect(try await stage.send(.post, "/admin/sign-in", body: wrong).status == 401)
      let right = Stage.encode([("token", Stage.token)])
      let refused = try await stage.send(.post, "/admin/sign-in", body: right)
      #expect(refused.status == 429 && refused.headers[.retryAfter] != nil)
      // Another address is not affected.
      stage.address.withLock { $0 = "192.0.2.2" }
      _ = try await stage.signIn()
      // Nor is this one blocked forever.
      stage.address.withLock { $0 = "192.0.2.1" }
      try await stage.stack.pool.execute("UPDATE sign_in_attempts SET since = since - interval '15 minutes'")
      try await eventually("the process has forgotten its refusal") {
        try await stage.send(.post, "/admin/sign-in", body: right).status == 303
      }
    }
  }

  @Test("Tokens guessed at the API's routes count here too")
  func otherDoors() async throws {
    try await Stage.with { stage in
      let api = AttemptBook(pool: stage.stack.pool, memory: .zero)
      for _ in 0..<AttemptLimit.adminToken.limit {
        try await api.guess(isRight: false, at: .adminToken, by: "192.0.2.1")
      }
      let right = Stage.encode([("token", Stage.token)])
      let refused = try await stage.send(.post, "/admin/sign-in", body: right)
      #expect(refused.status == 429 && refused.contains("Too many wrong admin tokens"))
      stage.address.withLock { $0 = "192.0.2.2" }
      _ = try await stage.signIn()
    }
  }

  @Test("Behind a trusted proxy each client's guesses are its own")
  func proxies() async throws {
    try await Stage.with { stage in
      let wrong = Stage.encode([("token", "a guess")])
      let proxied = try Stage.dashboard(
        keys: DashboardKeys(full: Stage.token), proxies: try TrustedProxies(["192.0.2.1"]), over: stage.stack)
      let name = try #require(HTTPField.Name("X-Forwarded-For"))
      func guess(from client: String) async throws -> Int {
        try await stage.send(.post, "/admin/sign-in", body: wrong, headers: [name: client], on: proxied).status
      }
      for _ in 0..<AttemptLimit.adminToken.limit { #expect(try await guess(from: "198.51.100.1") == 401) }
      #expect(try await guess(from: "198.51.100.1") == 429)
      #expect(try await guess(from: "198.51.100.2") == 401)
    }
  }

  @Test("Guesses that race are all counted")
  func race() async throws {
    try await Stage.with { stage in
      let wrong = Stage.encode([("token", "a guess")])
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<30 {
          group.addTask { try await stage.send(.post, "/admin/sign-in", body: wrong).status }
        }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 401 } == AttemptLimit.adminToken.limit)
      #expect(statuses.count { $0 == 429 } == 30 - AttemptLimit.adminToken.limit)
    }
  }

  @Test("Signed out is signed out; so is who waits too long, and who has the token of yesterday")
  func ends() async throws {
    try await Stage.with { stage in
      let one = try await stage.signIn()
      #expect(try await one.get("/admin/queues").status == 200)
      let out = try await one.post("/admin/sign-out")
      #expect(out.status == 303 && out.headers[.setCookie]?.contains("Max-Age=0") == true)
      #expect(try await one.get("/admin/queues").location == "/admin/sign-in?to=%2Fadmin%2Fqueues")

      let two = try await stage.signIn()
      try await stage.stack.pool.execute("UPDATE admin_sessions SET expires_at = now()")
      #expect(try await two.get("/admin/queues").status == 303)
      // The next sign-in deletes expired sessions.
      let three = try await stage.signIn()
      #expect(try await stage.count("SELECT count(*) FROM admin_sessions") == 1)

      let keys = DashboardKeys(full: "the token of today, longer")
      let changed = try Stage.dashboard(keys: keys, over: stage.stack)
      #expect(try await three.get("/admin/queues").status == 200)
      #expect(try await stage.send(.get, "/admin/queues", cookie: three.cookie, on: changed).status == 303)
    }
  }

  @Test("After signing in it leads on to a page of the dashboard, and nowhere else")
  func target() async throws {
    try await Stage.with { stage in
      let targets = [
        ("/admin/jobs?state=dead", "/admin/jobs?state=dead"), ("/admin", "/admin"), ("https://evil.example", "/admin"),
        ("//evil.example/admin", "/admin"), ("/admin//evil.example", "/admin"), ("/administrators", "/admin"),
        ("/admin\\evil", "/admin"), ("/admin\r\nSet-Cookie: a=b", "/admin"), ("", "/admin"),
      ]
      for (wanted, led) in targets {
        let body = Stage.encode([("token", Stage.token), ("to", wanted)])
        #expect(try await stage.send(.post, "/admin/sign-in", body: body).location == led, "\(wanted)")
      }
      let form = try await stage.send(.get, "/admin/sign-in?to=https%3A%2F%2Fevil.example")
      #expect(form.status == 200 && !form.contains("evil.example"))
    }
  }

  @Test(
    "A name for the log is one short line",
    arguments: [
      ("ann", "ann"), (nil, "operator"), ("   ", "operator"), ("a\u{202E}\nb", "ab"),
      (String(repeating: "x", count: 100), String(repeating: "x", count: 64)),
    ])
  func names(typed: String?, kept: String) {
    #expect(SignInPages.name(typed) == kept)
  }

  @Test("The token in the database is a hash, and the admin token stands nowhere")
  func kept() async throws {
    try await Stage.with { stage in
      let operatorOne = try await stage.signIn()
      let rows = try await stage.stack.pool.query("SELECT to_jsonb(s)::text FROM admin_sessions s").decode(String.self)
      for row in rows { #expect(!row.contains(operatorOne.cookie) && !row.contains(Stage.token)) }
      let page = try await operatorOne.get("/admin")
      #expect(!page.contains(Stage.token) && !page.contains(operatorOne.cookie))
    }
  }

  @Test func anAddressOfIPv6CountsByWhatOneClientHas() throws {
    let one = try SocketAddress(ipAddress: "2001:db8:1:2::1", port: 1)
    let other = try SocketAddress(ipAddress: "2001:db8:1:2:ffff::2", port: 2)
    let third = try SocketAddress(ipAddress: "2001:db8:1:3::1", port: 1)
    #expect(ClientAddress(one.ipAddress) == ClientAddress(other.ipAddress))
    #expect(ClientAddress(one.ipAddress).key != ClientAddress(third.ipAddress).key)
    #expect(ClientAddress("192.0.2.7").key == "192.0.2.7")
  }
}
