import CurlClient
import Foundation
import LocalStack
import LibPQClient
import Locking
import Testing

@testable import Social
@testable import SocialAPI

@Suite(.timeLimit(.minutes(2))) struct AccountExportRouteTests {
  @Test func anOwnerGetsALinkAndWhoeverHasItTheFile() async throws {
    let mails = Locked<[String]>([])
    try await API.run { api in
      let ann = try await api.open("ann")
      #expect(try await api.send("POST", "/v1/me/export").status == 401)
      let asked = try await api.send("POST", "/v1/me/export", as: ann)
      #expect(asked.status == 202 && asked.json.isEmpty)
      #expect(try await api.send("POST", "/v1/me/export", as: ann).status == 202)
      #expect(try await api.count("SELECT count(*) FROM account_exports") == 1)
      let mailer = Mailer(
        pool: api.pool, from: try MailAddress("no-reply@example.org"),
        resetLink: try #require(TokenLink("https://app.example/reset/{token}")),
        exportLink: TokenLink("https://api.example/v1/account-exports/{token}")
      ) { message in mails.withLock { $0.append(message.text) } }
      try await api.drain(SocialJobs.bulkQueue, mailer: mailer)
      try await api.drain(SocialJobs.mailQueue, mailer: mailer)
      let mail = try #require(mails.withLock { $0.first })
      let start = try #require(mail.range(of: "https://api.example"))
      let path = String(mail[start.upperBound...].prefix { !$0.isWhitespace })
      let file = try await api.exchange("GET", path)
      #expect(file.status == 200 && file.body.starts(with: [0x50, 0x4B, 3, 4]))
      #expect(file.headers["content-type"] == "application/zip")
      #expect(file.headers["content-disposition"] == "attachment; filename=\"account.zip\"")
      #expect(file.headers["cache-control"] == "no-store")
      #expect(String(decoding: file.body, as: UTF8.self).contains("ann@example.org"))
      let part = try await api.exchange("GET", path, headers: ["Range": "bytes=0-3"])
      #expect(part.status == 206 && part.body.count == 4)
      #expect(try await api.send("GET", "/v1/account-exports/\(SessionToken().text)").code == "not_found")
      #expect(try await api.send("GET", "/v1/account-exports/short").code == "not_found")
    }
  }

  @Test func withoutMailOrAnAddressItIsSaid() async throws {
    try await API.run(sendsMail: false) { api in
      let ann = try await api.open("ann")
      #expect(try await api.send("POST", "/v1/me/export", as: ann).code == "mail_not_configured")
    }
    try await API.run { api in
      let ann = try await api.open("ann")
      try await api.pool.execute("UPDATE accounts SET email = NULL")
      let refused = try await api.send("POST", "/v1/me/export", as: ann)
      #expect(refused.status == 409 && refused.code == "no_email")
    }
  }

  @Test func requestsAreLimited() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      var codes: [Int] = []
      for _ in 0..<5 { codes.append(try await api.send("POST", "/v1/me/export", as: ann).status) }
      #expect(codes == [202, 202, 202, 429, 429])
    }
  }
}
