import Foundation
import LibPQClient
import Testing

@Suite struct AccountRouteTests {
  @Test func anAccountIsOpenedAndSignsInAndOut() async throws {
    try await API.run { api in
      let opened = try await api.send("POST", "/v1/accounts", API.registration("ann"))
      #expect(opened.status == 201)
      #expect(opened.json["username"] as? String == "ann")
      let signedIn = try await api.send("POST", "/v1/sessions", #"{"email":"ANN@example.org","password":"a password"}"#)
      #expect(signedIn.status == 201)
      let token = try #require(signedIn.json["token"] as? String)
      let me = try await api.send("GET", "/v1/me", as: token)
      #expect(me.json["email"] as? String == "ann@example.org")
      #expect(try await api.send("DELETE", "/v1/sessions/current", as: token).status == 204)
      let after = try await api.send("GET", "/v1/me", as: token)
      #expect(after.status == 401)
      #expect(after.code == "not_signed_in")
    }
  }

  @Test func refusalsHaveTheirCodesAndWriteNothing() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      func opening(_ body: String) async throws -> (Int, String?) {
        let reply = try await api.send("POST", "/v1/accounts", body)
        return (reply.status, reply.code)
      }
      let taken = API.registration("bob").replacing("\"bob\"", with: "\"ANN\"")
      #expect(try await opening(taken) == (409, "username_taken"))
      let email = API.registration("bob").replacing("bob@", with: "Ann@")
      #expect(try await opening(email) == (409, "email_taken"))
      #expect(try await opening(API.registration("no spaces")) == (422, "invalid_username"))
      #expect(
        try await opening(API.registration("bob").replacing("a password", with: "short")) == (422, "invalid_password"))
      #expect(try await opening(#"{"username":"bob"}"#) == (422, "invalid_email"))
      #expect(
        try await opening(#"{"username":7,"email":"x@y.z","password":"a password","name":"x"}"#) == (
          422, "invalid_username"
        ))
      #expect(try await opening("{") == (400, "malformed_body"))
      #expect(try await opening("[1]").0 == 400)
      #expect(try await opening("") == (400, "malformed_body"))
      let wrong = try await api.send("POST", "/v1/sessions", #"{"email":"ann@example.org","password":"another"}"#)
      #expect((wrong.status, wrong.code) == (401, "wrong_credentials"))
      let unknown = try await api.send("POST", "/v1/sessions", #"{"email":"eve@example.org","password":"another"}"#)
      #expect((unknown.status, unknown.code) == (401, "wrong_credentials"))
      #expect(try await api.count("SELECT count(*) FROM accounts") == 1)
    }
  }

  @Test func tooManyPasswordsForAnAddressAreRefused() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      try await api.pool.execute(
        """
        INSERT INTO sign_in_attempts (address_hash, attempts, since)
        VALUES (sha256('sign-in by and to 127.0.0.1 ann@example.org'), 20, now())
        """)
      let refused = try await api.send("POST", "/v1/sessions", #"{"email":"ann@example.org","password":"a password"}"#)
      #expect((refused.status, refused.code) == (429, "too_many_attempts"))
      let other = try await api.send("POST", "/v1/sessions", #"{"email":"bob@example.org","password":"a password"}"#)
      #expect(other.code == "wrong_credentials")
    }
  }

  @Test func aBodyIsReadUpToAMebibyte() async throws {
    try await API.run { api in
      let token = try await api.open("ann")
      let body = #"{"title":"x","description":"\#(String(repeating: "a", count: 1 << 20))"}"#
      let reply = try await api.send("POST", "/v1/posts", as: token, body)
      #expect((reply.status, reply.code) == (413, "body_too_large"))
    }
  }

  @Test func aRegistrationSentAgainOpensNothingAndSignsIn() async throws {
    try await API.run { api in
      let first = try await api.send("POST", "/v1/accounts", key: "k", API.registration("ann"))
      let second = try await api.send("POST", "/v1/accounts", key: "k", API.registration("ann"))
      #expect(second.status == 201)
      #expect(second.json["id"] as? Int == first.json["id"] as? Int)
      let token = try #require(second.json["token"] as? String)
      #expect(try await api.send("GET", "/v1/me", as: token).status == 200)
      let guess = API.registration("ann").replacing("a password", with: "another one")
      #expect(try await api.send("POST", "/v1/accounts", key: "k", guess).status == 401)
      let other = try await api.send("POST", "/v1/accounts", key: "k", API.registration("bob"))
      #expect((other.status, other.code) == (422, "idempotency_key_reused"))
    }
  }

  @Test func anOwnerChangesWhatIsTheirs() async throws {
    try await API.run { api in
      let token = try await api.open("ann")
      let changed = try await api.send(
        "PATCH", "/v1/me", as: token, #"{"bio":"hello"}"#)
      #expect(changed.json["bio"] as? String == "hello")
      let cleared = try await api.send("PATCH", "/v1/me", as: token, #"{"avatar":null}"#)
      #expect(cleared.json["avatar"] is NSNull)
      #expect(cleared.json["bio"] as? String == "hello")
      let refused = try await api.send("PATCH", "/v1/me", as: token, #"{"name":""}"#)
      #expect((refused.status, refused.code) == (422, "invalid_name"))
      #expect(try await api.send("PATCH", "/v1/me", #"{"bio":"x"}"#).status == 401)
    }
  }
}
