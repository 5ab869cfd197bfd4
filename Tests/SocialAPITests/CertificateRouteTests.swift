import Cryptography
import Foundation
import LibPQClient
import LocalStack
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct CertificateRouteTests {
  private let channel = "UC_x5XG1OV2P6uZZ5FSM9Ttw"
  private var path: String { "/v1/me/celebs/youtube/\(channel)" }

  private func issue(in api: API, to fan: String) async throws -> String {
    #expect(try await api.send("PUT", path, as: fan).status == 200)
    let issued = try await api.send("GET", path + "/certificate", as: fan)
    #expect(issued.status == 200)
    return try #require(issued.json["token"] as? String)
  }

  @Test func aCertificateIsCheckedByAnybodyWithThePublishedKeys() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let token = try await issue(in: api, to: ann)
      #expect(try await api.send("GET", path + "/certificate", as: bob).code == "celeb_not_registered")
      #expect(try await api.send("GET", path + "/certificate").status == 401)
      let checked = try await api.send("GET", "/v1/certificates/\(token)")
      let certificate = try #require(checked.json["certificate"] as? [String: Any])
      #expect(checked.status == 200 && checked.json["valid"] as? Bool == true)
      #expect(certificate["username"] as? String == "ann" && certificate["hearts"] as? Int == 0)
      #expect(certificate["rank"] as? Int == 1 && certificate["account"] as? String == channel)

      // A third party verifies with only the keys.
      let keys = try await api.send("GET", "/.well-known/jwks.json")
      #expect(keys.status == 200 && keys.headers["content-type"] == "application/jwk-set+json")
      let key = try #require((keys.json["keys"] as? [[String: Any]])?.first)
      #expect(key["kty"] as? String == "OKP" && key["crv"] as? String == "Ed25519" && key["alg"] as? String == "EdDSA")
      #expect(key["d"] == nil)
      let parts = token.split(separator: ".")
      let headBytes = try #require(Base64URL.bytes(parts[0]))
      let head = try JSONSerialization.jsonObject(with: Data(headBytes))
      #expect((head as? [String: String])?["kid"] == key["kid"] as? String)
      let x = try #require(key["x"] as? String)
      let published = try Ed25519PublicKey(try #require(Base64URL.bytes(x)))
      let signature = try #require(Base64URL.bytes(parts[2]))
      #expect(published.isValid(signature, for: "\(parts[0]).\(parts[1])".utf8))
    }
  }

  @Test func whatWasChangedOrSignedForSomethingElseIsForged() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let token = try await issue(in: api, to: ann)
      let parts = token.split(separator: ".").map(String.init)
      let payload = String(decoding: try #require(Base64URL.bytes(parts[1])), as: UTF8.self)
      let better = Base64URL.text(payload.replacing(#""hearts":0"#, with: #""hearts":9"#).utf8)
      #expect(better != parts[1])
      // The same key for another use; an unknown key; no signature at all.
      let keys = SigningKeys(secret: "a key of the tests, 32 characters or more")
      let other = try await keys.current(in: api.pool).sign(["account": "x"], as: "receipt+jwt")
      let own = SigningKey(id: "own", key: try Ed25519PrivateKey())
      for (text, code) in [
        ("\(parts[0]).\(better).\(parts[2])", "forged_certificate"), (other, "forged_certificate"),
        (try own.sign(["account": "x"], as: "fan+jwt"), "forged_certificate"),
        (try await keys.current(in: api.pool).sign(["account": "x"], as: "fan+jwt"), "malformed_certificate"),
        ("\(parts[0]).\(parts[1]).", "forged_certificate"), ("nonsense", "malformed_certificate"),
        ("\(Base64URL.text(#"{"alg":"none"}"#.utf8)).\(parts[1]).", "malformed_certificate"),
        (
          "\(Base64URL.text(#"{"alg":"HS256","kid":"own","typ":"fan+jwt"}"#.utf8)).\(parts[1]).AA", "forged_certificate"
        ),
        (
          "\(Base64URL.text(#"{"alg":"EdDSA","kid":"a\u0000b","typ":"fan+jwt"}"#.utf8)).\(parts[1]).\(parts[2])",
          "malformed_certificate"
        ),
      ] {
        let refused = try await api.send("GET", "/v1/certificates/\(text)")
        #expect((refused.status, refused.code) == (422, code), "\(text)")
        let card = try await api.send("GET", "/v1/certificates/\(text)/card.svg")
        #expect((card.status, card.code) == (422, code), "\(text)")
      }
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'certificates.card'") == 0)
    }
  }

  @Test func aFanWhoRemovesTheCelebRevokesIt() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let token = try await issue(in: api, to: ann)
      #expect(try await api.send("DELETE", path, as: ann).status == 204)
      for path in ["", "/card.svg", "/card.png"] {
        let revoked = try await api.send("GET", "/v1/certificates/\(token)" + path)
        #expect((revoked.status, revoked.code) == (410, "certificate_revoked"))
      }
      // After another registration the fan's time differs: the old certificate no longer holds.
      try await api.pool.execute("UPDATE celeb_fans SET hearted_at = NULL")
      let next = try await issue(in: api, to: ann)
      try await api.pool.execute("UPDATE celeb_fans SET since = since + interval '1 minute'")
      #expect(try await api.send("GET", "/v1/certificates/\(next)").code == "certificate_revoked")
      let last = try await issue(in: api, to: ann)
      #expect(try await api.send("GET", "/v1/certificates/\(last)").status == 200)
      try await api.pool.execute("INSERT INTO hidden_accounts (account_id, is_deleted) SELECT id, false FROM accounts")
      #expect(try await api.send("GET", "/v1/certificates/\(last)").code == "certificate_revoked")
    }
  }

  @Test func aRotatedKeyChecksWhatItSigned() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let token = try await issue(in: api, to: ann)
      let keys = SigningKeys(secret: "a key of the tests, 32 characters or more")
      let id = try await api.pool.transaction { try await keys.rotate(in: $0) }
      let next = try await issue(in: api, to: ann)
      #expect(String(decoding: Base64URL.bytes(next.split(separator: ".")[0]) ?? [], as: UTF8.self).contains(id))
      for text in [token, next] { #expect(try await api.send("GET", "/v1/certificates/\(text)").status == 200) }
      let published = try await api.send("GET", "/.well-known/jwks.json").json["keys"] as? [[String: Any]]
      #expect(published?.count == 2 && published?.first?["kid"] as? String == id)
      // Concurrent first requests create one key.
      try await api.pool.execute("DELETE FROM signing_keys")
      let made = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<8 { group.addTask { try await keys.current(in: api.pool).id } }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(made.count == 1)
      // With a different secret it signs nothing.
      let stranger = SigningKeys(secret: "another key of the tests, of 32 characters")
      let refusal = await #expect(throws: SocialError.self) { _ = try await stranger.current(in: api.pool) }
      #expect(refusal?.code == .certificatesOff)
    }
  }

  @Test func aBrowserGetsAPage() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let token = try await issue(in: api, to: ann)
      let page = try await api.exchange("GET", "/v1/certificates/\(token)", headers: ["Accept": "text/html,*/*;q=0.8"])
      #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
      #expect(page.headers["content-security-policy"]?.hasPrefix("default-src 'none'; img-src 'self'") == true)
      let text = String(decoding: page.body, as: UTF8.self)
      #expect(text.contains("ann is a fan of \(channel)") && text.contains(#"src="\#(token)/card.svg""#))
      // One from before cards were drawn.
      let former = try CertificateKey("a key of the tests, 32 characters or more").token(
        for: FanCertificate(
          platform: .youtube, account: channel, username: "ann", since: .now, hearts: 3, rank: 1, fans: 2,
          issuedAt: .now))
      let formerPage = try await api.exchange("GET", "/v1/certificates/\(former)", headers: ["Accept": "text/html"])
      let formerText = String(decoding: formerPage.body, as: UTF8.self)
      #expect(formerPage.status == 200 && formerText.contains("ann is a fan of \(channel)"))
      #expect(!formerText.contains("card.") && !formerText.contains("since.") && !formerText.contains("jwks"))
      let wrong = try await api.exchange("GET", "/v1/certificates/nonsense", headers: ["Accept": "text/html"])
      #expect(
        wrong.status == 422 && String(decoding: wrong.body, as: UTF8.self).contains("This is not a valid certificate"))
    }
  }

  @Test func aCardIsDrawnByAWorkerAndKept() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let token = try await issue(in: api, to: ann)
      for form in ["svg", "png", "svg"] {
        let waiting = try await api.send("GET", "/v1/certificates/\(token)/card.\(form)")
        #expect(waiting.status == 202 && waiting.headers["retry-after"] == "1")
      }
      #expect(try await api.count("SELECT count(*) FROM jobs WHERE kind = 'certificates.card'") == 1)
      try await api.pool.execute(
        """
        INSERT INTO certificate_cards (token_hash, account_id, svg, png)
        SELECT \(SHA256.hash(of: token.utf8)), id, '<svg/>', 'png' FROM accounts
        """)
      for (form, type, body) in [("svg", "image/svg+xml", "<svg/>"), ("png", "image/png", "png")] {
        let card = try await api.exchange("GET", "/v1/certificates/\(token)/card.\(form)")
        #expect(card.status == 200 && card.headers["content-type"] == type)
        #expect(String(decoding: card.body, as: UTF8.self) == body)
        #expect(card.headers["content-security-policy"]?.contains("sandbox") == true)
        let tag = try #require(card.headers["etag"])
        let again = try await api.exchange(
          "GET", "/v1/certificates/\(token)/card.\(form)", headers: ["If-None-Match": tag])
        #expect(again.status == 304)
      }
      #expect(try await api.send("GET", "/v1/certificates/\(token)/card.gif").status == 404)
    }
  }

  @Test func withoutASecretThereAreNone() async throws {
    try await API.run(certificates: nil) { api in
      let ann = try await api.open("ann")
      #expect(try await api.send("PUT", path, as: ann).status == 200)
      let off = try await api.send("GET", path + "/certificate", as: ann)
      #expect((off.status, off.code) == (503, "certificates_off"))
      #expect(try await api.send("GET", "/v1/certificates/a.b").code == "certificates_off")
    }
  }
}
