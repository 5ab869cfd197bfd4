import Cryptography
import Foundation
import LibPQClient
import Social
import Testing

@Suite(.timeLimit(.minutes(5))) struct PurchaseRouteTests {
  private let key = HMACSHA256(key: "a key of the tests, 32 characters or more".utf8)

  private func notice(_ type: String, _ receipt: String, for token: String, at seconds: Int) -> String {
    let payload = """
      {"type":"\(type)","receipt":"\(receipt)","account":"\(token)","celebs":2,"product":"two","at":\(seconds)}
      """
    let message = Base64URL.text(#"{"alg":"HS256"}"#.utf8) + "." + Base64URL.text(payload.utf8)
    return #"{"notice":"\#(message).\#(Base64URL.text(key.code(for: message.utf8)))"}"#
  }

  @Test func aStoreGrantsAndRefundsAndTheFanSeesBoth() async throws {
    try await API.run(purchases: PurchaseRules(key: key)) { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      #expect(try await api.send("GET", "/v1/me/purchases").status == 401)
      #expect(try await api.send("GET", "/v1/me/purchases?limit=0", as: ann).code == "invalid_limit")
      let tokens = try await api.pool.query("SELECT FROM purchase_tokens")
      #expect(tokens.isEmpty, "a refused request has written")
      let before = try await api.send("GET", "/v1/me/purchases", as: ann)
      #expect(before.json["celebs"] as? Int == 3 && before.items.isEmpty)
      let token = try #require(before.json["token"] as? String)
      #expect(try await api.send("GET", "/v1/me/purchases", as: bob).json["token"] as? String != token)
      // A store has no session.
      for outcome in ["granted", "unchanged"] {
        let reply = try await api.send("POST", "/v1/purchases", notice("purchase", "r1", for: token, at: 1_790_000_000))
        #expect(reply.status == 200 && reply.json["outcome"] as? String == outcome)
      }
      for number in 1...5 {
        #expect(try await api.send("PUT", "/v1/me/celebs/instagram/artist\(number)", as: ann).status == 200)
      }
      #expect(try await api.send("PUT", "/v1/me/celebs/instagram/artist6", as: ann).code == "celeb_limit")
      let refunded = try await api.send("POST", "/v1/purchases", notice("refund", "r1", for: token, at: 1_790_000_060))
      #expect(refunded.json["outcome"] as? String == "refunded")
      let after = try await api.send("GET", "/v1/me/purchases", as: ann)
      #expect(after.json["celebs"] as? Int == 3)
      let item = try #require(after.items.first)
      #expect(item["receipt"] as? String == "r1" && item["product"] as? String == "two")
      #expect(item["source"] as? String == "notice" && item["celebs"] as? Int == 2)
      #expect(item["grantedAt"] as? String == "2026-09-21T14:13:20.000Z")
      #expect(item["refundedAt"] as? String == "2026-09-21T14:14:20.000Z")
      #expect(try await api.send("GET", "/v1/me/celebs", as: ann).items.count == 5)
      #expect(try await api.send("GET", "/v1/me/purchases", as: bob).items.isEmpty)
    }
  }

  @Test func whatIsNotSignedIsRefused() async throws {
    try await API.run(purchases: PurchaseRules(key: key)) { api in
      let ann = try await api.open("ann")
      let token = try #require(try await api.send("GET", "/v1/me/purchases", as: ann).json["token"] as? String)
      let forged = notice("purchase", "r1", for: token, at: 1).replacing(#""}"#, with: #"A"}"#)
      let stranger = notice("purchase", "r1", for: UUID().uuidString, at: 1)
      for (body, status, code) in [
        (forged, 403, "forged_notice"), (#"{"notice":"a.b.c"}"#, 422, "malformed_notice"),
        ("{}", 422, "malformed_notice"), (#"{"notice":"a","signedPayload":"b"}"#, 422, "malformed_notice"),
        (#"{"signedPayload":"a.b.c"}"#, 503, "purchases_off"), (stranger, 404, "not_found"),
        (#"{"notice":7}"#, 422, "invalid_notice"), ("", 400, "malformed_body"),
      ] {
        let reply = try await api.send("POST", "/v1/purchases", body)
        #expect((reply.status, reply.code) == (status, code), "\(body)")
      }
      #expect(try await api.count("SELECT count(*) FROM purchases") == 0)
    }
    try await API.run { api in
      let reply = try await api.send("POST", "/v1/purchases", notice("purchase", "r1", for: UUID().uuidString, at: 1))
      #expect((reply.status, reply.code) == (503, "purchases_off"))
    }
  }
}
