import Bootstrap
import CurlClient
import DurableJobs
import Foundation
import LibPQClient
import LocalStack
import Social
import Testing

/// `DELETE me`, with a password or by mail.
@Suite(.timeLimit(.minutes(2))) struct DeletionRouteTests {
  private func delete(_ body: String, as token: String?, _ api: API) async throws -> (Int, String?) {
    let reply = try await api.send("DELETE", "/v1/me", as: token, body)
    return (reply.status, reply.code)
  }

  /// Sends the pending mails, and returns the tokens in them.
  private func mailedTokens(_ api: API) async throws -> [String] {
    let folder = NSTemporaryDirectory() + "fanmill-mail-\(UUID().uuidString)"
    let post = MailPost(.folder(folder), logger: logger)
    let link = "https://app.example/"
    try await api.drain(
      "mail",
      mailer: Mailer(
        pool: api.pool, from: try MailAddress("no-reply@example.org"),
        resetLink: try #require(TokenLink(link + "reset/{token}")), deletionLink: TokenLink(link + "delete/{token}")
      ) { try await post.send($0) })
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: folder) } }
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
      try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8).components(separatedBy: "/delete/").dropFirst()
        .first.map { String($0.prefix(43)) }
    }
  }

  @Test("The owner's password deletes the account, and what it was called is free")
  func password() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let bytes = StoredPNG(width: 30, height: 20) { x, y in [UInt8(x), UInt8(y), 0] }.bytes
      let picture = try await api.upload(bytes, as: ann)
      let id = try #require(picture.json["id"] as? String)
      try await api.drain(SocialJobs.pictureQueue)
      #expect(try await api.exchange("GET", "/media/\(id)/thumb", as: bob).status == 200)
      let post = try await api.post("a post", as: ann)

      #expect(try await delete("{}", as: nil, api) == (401, "not_signed_in"))
      #expect(try await delete("{}", as: ann, api) == (422, "invalid_password"))
      #expect(try await delete(#"{"password":"a guess of it"}"#, as: ann, api) == (403, "wrong_password"))
      #expect(try await delete(#"{"password":"a password"}"#, as: ann, api) == (204, nil))
      #expect(try await delete(#"{"password":"a password"}"#, as: ann, api) == (401, "not_signed_in"))
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 401)
      let signIn = #"{"email":"ann@example.org","password":"a password"}"#
      #expect(try await api.send("POST", "/v1/sessions", signIn).code == "wrong_credentials")
      #expect(try await api.send("GET", "/v1/users/ann", as: bob).status == 404)
      #expect(try await api.send("GET", "/v1/posts/\(post)", as: bob).status == 404)
      #expect(try await api.exchange("GET", "/media/\(id)/thumb", as: bob).status == 404)

      // A new account may take the name, and gets none of the old data.
      let other = try await api.open("ann")
      #expect(try await api.send("GET", "/v1/me", as: other).json["posts"] as? Int == 0)
      try await api.drain(SocialJobs.bulkQueue)
      for queue in [SocialJobs.fanOutQueue, SocialJobs.notificationQueue, SocialJobs.bulkQueue, .default] {
        try await api.drain(queue)
      }
      #expect(try await LeftoverAudit.run(on: api.pool).isClean)
      let media = try await MediaAudit.run(api.store, on: api.pool)
      #expect(media.isExact && media.expected == 0 && media.orphaned.isEmpty, "\(media)")
      #expect(try await api.send("GET", "/v1/users/ann", as: bob).status == 200)
    }
  }

  @Test("Who has no password deletes the account by mail, once and within a day")
  func mail() async throws {
    try await API.run { api in
      _ = try await api.pool.execute(
        "INSERT INTO accounts (username, email) VALUES ('old', 'old@example.org'), ('older', NULL)")
      func session(of name: String) async throws -> String {
        try await api.pool.transaction {
          try await Sessions.open(for: try await Accounts.id(of: name, in: $0), in: $0).text
        }
      }
      let (old, older) = (try await session(of: "old"), try await session(of: "older"))
      #expect(try await delete("{}", as: older, api) == (409, "no_password"))
      #expect(try await delete(#"{"password":"a password"}"#, as: old, api) == (403, "wrong_password"))
      #expect(try await delete("{}", as: old, api) == (202, nil))
      #expect(try await delete("{}", as: old, api) == (202, nil))
      let tokens = try await mailedTokens(api)
      #expect(Set(tokens).count == 2)
      func confirm(_ token: String) async throws -> (Int, String?) {
        let reply = try await api.send("POST", "/v1/account-deletions/\(token)")
        return (reply.status, reply.code)
      }
      #expect(try await confirm("nonsense") == (410, "confirmation_expired"))
      #expect(try await confirm(String(tokens[0].reversed())) == (410, "confirmation_expired"))
      #expect(try await api.send("GET", "/v1/me", as: old).status == 200)
      try await api.pool.execute("UPDATE deletion_tokens SET expires_at = now()")
      #expect(try await confirm(tokens[0]) == (410, "confirmation_expired"))
      try await api.pool.execute("UPDATE deletion_tokens SET expires_at = now() + interval '1 hour'")
      #expect(try await confirm(tokens[0]) == (204, nil))
      #expect(try await confirm(tokens[1]) == (410, "confirmation_expired"))
      #expect(try await api.send("GET", "/v1/me", as: old).status == 401)
      #expect(try await api.count("SELECT count(*) FROM accounts") == 1)
      #expect(try await api.count("SELECT count(*) FROM deletion_tokens") == 0)
    }
  }

  @Test("Where no mail is sent, the operator is named")
  func withoutMail() async throws {
    try await API.run(sendsMail: false) { api in
      _ = try await api.pool.execute("INSERT INTO accounts (username, email) VALUES ('old', 'old@example.org')")
      let old = try await api.pool.transaction {
        try await Sessions.open(for: try await Accounts.id(of: "old", in: $0), in: $0).text
      }
      let reply = try await api.send("DELETE", "/v1/me", as: old, "{}")
      #expect((reply.status, reply.code) == (503, "mail_not_configured"))
      #expect((reply.json["detail"] as? String)?.contains("accounts delete") == true)
    }
  }
}
