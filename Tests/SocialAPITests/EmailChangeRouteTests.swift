import Bootstrap
import CurlClient
import DurableJobs
import Foundation
import LibPQClient
import Social
import Testing

/// `me/email` and `email-confirmations`, with a folder for a mailbox.
@Suite(.timeLimit(.minutes(2))) struct EmailChangeRouteTests {
  private struct Mail {
    let to: String
    let text: String
    var token: String? { text.components(separatedBy: "/confirm/").dropFirst().first.map { String($0.prefix(43)) } }
  }

  /// Sends the pending mails, and returns them.
  private func mails(_ api: API) async throws -> [Mail] {
    let folder = NSTemporaryDirectory() + "fanmill-mail-\(UUID().uuidString)"
    let post = MailPost(.folder(folder), logger: logger)
    let link = "https://app.example/"
    try await api.drain(
      "mail",
      mailer: Mailer(
        pool: api.pool, from: try MailAddress("no-reply@example.org"),
        resetLink: try #require(TokenLink(link + "reset/{token}")),
        confirmationLink: TokenLink(link + "confirm/{token}")
      ) { try await post.send($0) })
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    return try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
      let mail = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      let to = mail.split(separator: "\r\n").first { $0.hasPrefix("To: ") }
      return Mail(to: String((to ?? "").dropFirst("To: ".count)), text: mail)
    }.sorted { $0.to < $1.to }
  }

  private func ask(
    _ email: String, password: String? = "a password", as token: String, on api: API
  ) async throws -> (Int, String?) {
    let word = password.map { #","password":"\#($0)""# } ?? ""
    let reply = try await api.send("PUT", "/v1/me/email", as: token, #"{"email":"\#(email)"\#(word)}"#)
    return (reply.status, reply.code)
  }

  private func confirm(_ token: String?, on api: API) async throws -> (Int, String?) {
    let reply = try await api.send("POST", "/v1/email-confirmations/\(token ?? "none")")
    return (reply.status, reply.code)
  }

  @Test func aConfirmationWhoseAnswerWasLostIsAnsweredAgain() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      #expect(try await ask("new@example.org", as: ann, on: api) == (202, nil))
      let token = try #require(try await mails(api).compactMap(\.token).first)
      for key in ["a", "a"] {
        #expect(try await api.send("POST", "/v1/email-confirmations/\(token)", key: key).status == 204)
      }
      #expect(try await api.send("POST", "/v1/email-confirmations/\(token)", key: "b").code == "confirmation_expired")
      let long = String(repeating: "k", count: 256)
      #expect(
        try await api.send("POST", "/v1/email-confirmations/\(token)", key: long).code == "invalid_Idempotency-Key")
    }
  }

  private func email(of token: String, on api: API) async throws -> String? {
    try await api.send("GET", "/v1/me", as: token).json["email"] as? String
  }

  @Test func anAddressIsTheAccountsOnceItIsConfirmed() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      #expect(try await ask("new@example.org", password: nil, as: ann, on: api) == (422, "invalid_password"))
      #expect(try await ask("new@example.org", password: "a guess of it", as: ann, on: api) == (403, "wrong_password"))
      #expect(try await ask("none", as: ann, on: api) == (422, "invalid_email"))
      _ = try await api.open("bob")
      #expect(try await ask("Bob@example.org", as: ann, on: api) == (409, "email_taken"))
      #expect(try await mails(api).isEmpty)

      #expect(try await ask("New@Example.org", as: ann, on: api) == (202, nil))
      let sent = try await mails(api)
      #expect(sent.map(\.to) == ["ann@example.org", "new@example.org"])
      #expect(sent[0].token == nil)
      #expect(try await email(of: ann, on: api) == "ann@example.org")
      #expect(try await confirm(sent[1].token, on: api) == (204, nil))
      #expect(try await email(of: ann, on: api) == "new@example.org")
      #expect(try await confirm(sent[1].token, on: api) == (410, "confirmation_expired"))
      #expect(try await api.count("SELECT count(*) FROM email_changes") == 0)
    }
  }

  @Test func onlyTheLatestAddressIsConfirmed() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      #expect(try await ask("first@example.org", as: ann, on: api) == (202, nil))
      let first = try await mails(api).last?.token
      #expect(try await ask("second@example.org", as: ann, on: api) == (202, nil))
      let second = try await mails(api).last?.token
      #expect(try await confirm(first, on: api) == (410, "confirmation_expired"))
      // Another account takes the address meanwhile.
      let body = API.registration("eve").replacing("eve@", with: "second@")
      #expect(try await api.send("POST", "/v1/accounts", body).status == 201)
      #expect(try await confirm(second, on: api) == (409, "email_taken"))
      #expect(try await email(of: ann, on: api) == "ann@example.org")

      #expect(try await ask("third@example.org", as: ann, on: api) == (202, nil))
      let third = try await mails(api).last?.token
      try await api.pool.execute("UPDATE email_changes SET expires_at = now()")
      #expect(try await confirm(third, on: api) == (410, "confirmation_expired"))
    }
  }

  /// The old address may belong to another person by then: tokens sent there no longer open anything.
  @Test func tokensForAPasswordEndWithTheAddress() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let reset = try await api.pool.transaction { transaction in
        try await PasswordResets.issue(for: try await Accounts.id(of: "ann", in: transaction), in: transaction).text
      }
      #expect(try await ask("new@example.org", as: ann, on: api) == (202, nil))
      #expect(try await confirm(try await mails(api).last?.token, on: api) == (204, nil))
      let reply = try await api.send("POST", "/v1/password-resets/\(reset)", #"{"password":"another one"}"#)
      #expect((reply.status, reply.code) == (410, "reset_expired"))
    }
  }

  @Test func anImportedAccountGetsItsFirstAddressWithoutAPassword() async throws {
    try await API.run { api in
      let token = try await api.pool.transaction { transaction in
        let id = try await transaction.query("INSERT INTO accounts (username) VALUES ('old') RETURNING id")[0]
          .decode(Int.self)
        return try await Sessions.open(for: id, in: transaction).text
      }
      #expect(try await ask("old@example.org", password: nil, as: token, on: api) == (202, nil))
      let sent = try await mails(api)
      #expect(sent.map(\.to) == ["old@example.org"])
      #expect(try await confirm(sent.first?.token, on: api) == (204, nil))
      #expect(try await email(of: token, on: api) == "old@example.org")
    }
  }

  @Test func whoSignsUpConfirmsTheAddressWhereThatIsAskedFor() async throws {
    try await API.run(confirmsSignUp: true) { api in
      let opened = try await api.send("POST", "/v1/accounts", key: "k", API.registration("ann"))
      #expect(opened.status == 201 && opened.json["token"] == nil)
      let again = try await api.send("POST", "/v1/accounts", key: "k", API.registration("ann"))
      #expect(again.status == 201 && again.json["id"] as? Int == opened.json["id"] as? Int)
      let signIn = #"{"email":"ann@example.org","password":"a password"}"#
      let early = try await api.send("POST", "/v1/sessions", signIn)
      #expect((early.status, early.code) == (403, "email_not_confirmed"))
      let guess = try await api.send("POST", "/v1/sessions", signIn.replacing("a password", with: "a guess"))
      #expect(guess.code == "wrong_credentials")

      // The mail was lost; a request for an unclaimed address gets the same reply.
      _ = try await mails(api)
      for email in ["Ann@example.org", "eve@example.org"] {
        let asked = try await api.send("POST", "/v1/email-confirmations", #"{"email":"\#(email)"}"#)
        #expect(asked.status == 202)
      }
      let sent = try await mails(api)
      #expect(sent.map(\.to) == ["ann@example.org"])
      #expect(try await confirm(sent.first?.token, on: api) == (204, nil))
      #expect(try await api.send("POST", "/v1/sessions", signIn).status == 201)
    }
  }

  @Test func mailIsAskedForSparinglyAndNotWhereThereIsNone() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      for _ in 0..<3 { #expect(try await ask("new@example.org", as: ann, on: api) == (202, nil)) }
      #expect(try await ask("new@example.org", as: ann, on: api) == (429, "too_many_attempts"))
      #expect(try await api.send("PUT", "/v1/me/email", #"{"email":"a@b.c"}"#).status == 401)
    }
    try await API.run(sendsMail: false) { api in
      let ann = try await api.open("ann")
      #expect(try await ask("new@example.org", as: ann, on: api) == (503, "mail_not_configured"))
      let again = try await api.send("POST", "/v1/email-confirmations", #"{"email":"a@b.c"}"#)
      #expect((again.status, again.code) == (503, "mail_not_configured"))
    }
  }
}
