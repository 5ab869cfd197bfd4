import Bootstrap
import CurlClient
import DurableJobs
import Foundation
import LibPQClient
import MailTestSupport
import Testing

@testable import Social
@testable import SocialAPI

@Suite(.timeLimit(.minutes(2))) struct PasswordResetRouteTests {
  private func ask(_ email: String, on api: API, key: String? = nil) async throws -> API.Reply {
    try await api.send("POST", "/v1/password-resets", key: key, #"{"email":"\#(email)"}"#)
  }

  private func choose(
    _ password: String, with token: String, on api: API, key: String? = nil
  ) async throws -> API.Reply {
    try await api.send("POST", "/v1/password-resets/\(token)", key: key, #"{"password":"\#(password)"}"#)
  }

  private func signIn(_ name: String, _ password: String, on api: API) async throws -> Int {
    try await api.send(
      "POST", "/v1/sessions", #"{"email":"\#(name)@example.org","password":"\#(password)"}"#
    ).status
  }

  /// An operator's token.
  private func issue(for name: String, on api: API) async throws -> String {
    try await api.pool.transaction { transaction in
      try await PasswordResets.issue(for: try await Accounts.id(of: name, in: transaction), in: transaction).text
    }
  }

  @Test func whoForgotAPasswordGetsAMailAndChoosesAnother() async throws {
    let server = try MailStandIn()
    defer { server.stop() }
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let asked = try await ask("Ann@Example.org", on: api)
      #expect(asked.status == 202 && asked.json.isEmpty)
      let other = try await issue(for: "ann", on: api)
      let post = MailPost(.server(try MailServer(url: "smtp://127.0.0.1:\(server.port)")), logger: logger)
      try await api.drain(
        "mail",
        mailer: Mailer(
          pool: api.pool, from: try MailAddress("no-reply@example.org"),
          resetLink: try #require(TokenLink("https://app.example/reset/{token}"))
        ) { try await post.send($0) })
      let mail = try #require(server.mails.first)
      #expect(server.mails.count == 1 && mail.recipients == ["ann@example.org"])
      let token = String(mail.body.components(separatedBy: "https://app.example/reset/")[1].prefix(43))

      // An invalid password does not use up the token.
      let short = try await choose("short", with: token, on: api)
      #expect((short.status, short.code) == (422, "invalid_password"))
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 200)
      let chosen = try await choose("another password", with: token, on: api)
      #expect(chosen.status == 204)

      #expect(try await signIn("ann", "a password", on: api) == 401)
      #expect(try await signIn("ann", "another password", on: api) == 201)
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 401)
      // No other account is signed out.
      #expect(try await api.send("GET", "/v1/me", as: bob).status == 200)
      #expect(try await signIn("bob", "a password", on: api) == 201)
      for used in [token, other] {
        let again = try await choose("a third password", with: used, on: api)
        #expect((again.status, again.code) == (410, "reset_expired"))
      }
      #expect(try await signIn("ann", "another password", on: api) == 201)
    }
  }

  @Test func nobodyLearnsWhoHasAnAccount() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      var replies: [API.Reply] = []
      var left: [[String]] = []
      for email in ["ann@example.org", "nobody@example.org"] {
        replies.append(try await ask(email, on: api))
        // The same jobs are pending, whoever it is for.
        left.append(
          try await api.pool.query(
            "SELECT kind || ' ' || queue || ' ' || version || ' ' || attempts || coalesce(unique_key, '') FROM jobs"
          ).decode(String.self))
        try await api.pool.execute("DELETE FROM jobs")
      }
      #expect(replies.map(\.status) == [202, 202] && replies.allSatisfy { $0.json.isEmpty })
      let headers = replies.map { reply in
        reply.headers.filter { !["date", "traceparent"].contains($0.key.lowercased()) }
      }
      #expect(headers[0] == headers[1])
      #expect(left[0] == left[1] && left[0] == ["accounts.password-reset-mail mail 1 0"])
    }
  }

  @Test func fewMailsAreSentToAnAddressWhoeverHasIt() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      for email in ["ann@example.org", "nobody@example.org"] {
        for number in 0..<AttemptLimit.resetOfAddress.limit {
          #expect(try await ask(number == 0 ? email.uppercased() : email, on: api).status == 202)
        }
        let refused = try await ask(email, on: api)
        #expect((refused.status, refused.code) == (429, "too_many_attempts"))
        #expect((1...900).contains(Int(refused.headers["retry-after"] ?? refused.headers["Retry-After"] ?? "") ?? 0))
      }
      #expect(try await api.count("SELECT count(*) FROM jobs") == 2 * AttemptLimit.resetOfAddress.limit)
      // Sign-ins are counted separately.
      #expect(try await signIn("ann", "a password", on: api) == 201)
      try await api.pool.execute("UPDATE sign_in_attempts SET since = since - interval '16 minutes'")
      #expect(try await ask("ann@example.org", on: api).status == 202)
    }
  }

  @Test func aClientAsksForFewMails() async throws {
    try await API.run { api in
      try await api.pool.execute(
        """
        INSERT INTO sign_in_attempts (address_hash, attempts, since)
        VALUES (sha256('reset by 127.0.0.1'), \(Int32(AttemptLimit.resetByClient.limit - 1)), now())
        """)
      #expect(try await ask("ann@example.org", on: api).status == 202)
      let refused = try await ask("bob@example.org", on: api)
      #expect((refused.status, refused.code) == (429, "too_many_attempts"))
    }
  }

  @Test func tokensThatAreNoneAndTokensOfAnHourAgoAreRefused() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      for token in [SessionToken().text, "x", String(repeating: "%00", count: 3)] {
        let unknown = try await choose("another password", with: token, on: api)
        #expect((unknown.status, unknown.code) == (404, "not_found"))
      }
      // A session token is not accepted here.
      let session = try await api.send("POST", "/v1/sessions", #"{"email":"ann@example.org","password":"a password"}"#)
      let text = try #require(session.json["token"] as? String)
      #expect(try await choose("another password", with: text, on: api).status == 404)
      let token = try await issue(for: "ann", on: api)
      #expect(try await api.send("GET", "/v1/me", as: token).status == 401)
      let left = try await api.count(
        "SELECT round(extract(epoch FROM expires_at - now()) / 60)::bigint FROM password_resets")
      #expect((58...60).contains(left))
      try await api.pool.execute("UPDATE password_resets SET expires_at = expires_at - interval '1 hour'")
      let expired = try await choose("another password", with: token, on: api)
      #expect((expired.status, expired.code) == (410, "reset_expired"))
      #expect(try await signIn("ann", "a password", on: api) == 201)
    }
  }

  @Test func theSameRequestSentAgainIsAnsweredTheSame() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      for _ in 0..<2 { #expect(try await ask("ann@example.org", on: api, key: "ask").status == 202) }
      #expect(try await api.count("SELECT count(*) FROM jobs") == 1)
      let token = try await issue(for: "ann", on: api)
      for _ in 0..<2 {
        #expect(try await choose("another password", with: token, on: api, key: "choose").status == 204)
      }
      #expect(try await choose("another password", with: token, on: api).status == 410)
      #expect(try await signIn("ann", "another password", on: api) == 201)
    }
  }

  @Test func whatIsNoAddressIsRefusedAndNobodyIsWrittenTo() async throws {
    try await API.run { api in
      for email in ["ann", "", #"ann@example.org\r\nRCPT TO:<eve@example.org>"#, #"a\u0000@example.org"#] {
        let refused = try await ask(email, on: api)
        #expect((refused.status, refused.code) == (422, "invalid_email"))
      }
      #expect(try await api.send("POST", "/v1/password-resets", "{").code == "malformed_body")
      #expect(try await api.count("SELECT count(*) FROM jobs") == 0)
    }
  }

  @Test func withoutAMailServerOnlyAnOperatorHelps() async throws {
    try await API.run(sendsMail: false) { api in
      _ = try await api.open("ann")
      let refused = try await ask("ann@example.org", on: api)
      #expect((refused.status, refused.code) == (503, "mail_not_configured"))
      #expect(try await api.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await choose("another password", with: try await issue(for: "ann", on: api), on: api).status == 204)
    }
  }

  @Test func aLogDoesNotShowATokenOfAPath() throws {
    let secrets = [
      "/v1/password-resets/", "/v1/email-confirmations/", "/v1/account-deletions/", "/v1/account-exports/", "/reset/",
      "/confirm/", "/delete/",
    ]
    for path in secrets { #expect(LoggedPath.shown(path + "abc") == path + "…") }
    #expect(LoggedPath.shown("/v1/posts/1") == "/v1/posts/1")
  }
}
