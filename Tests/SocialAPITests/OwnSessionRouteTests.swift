import Foundation
import Testing

/// `me/password` and `me/sessions`.
@Suite(.timeLimit(.minutes(2))) struct OwnSessionRouteTests {
  private func signIn(_ name: String, _ password: String = "a password", on api: API) async throws -> String? {
    let body = #"{"email":"\#(name)@example.org","password":"\#(password)"}"#
    return try await api.send("POST", "/v1/sessions", body).json["token"] as? String
  }

  private func change(_ old: String, to new: String, as token: String?, on api: API) async throws -> (Int, String?) {
    let reply = try await api.send("PUT", "/v1/me/password", as: token, #"{"old":"\#(old)","new":"\#(new)"}"#)
    return (reply.status, reply.code)
  }

  private func isOpen(_ token: String, on api: API) async throws -> Bool {
    try await api.send("GET", "/v1/me", as: token).status == 200
  }

  @Test func anotherPasswordEndsAllOtherSessions() async throws {
    try await API.run { api in
      let (here, bob) = (try await api.open("ann"), try await api.open("bob"))
      let elsewhere = try #require(try await signIn("ann", on: api))
      #expect(try await change("a guess of it", to: "another password", as: here, on: api) == (403, "wrong_password"))
      #expect(try await change("a password", to: "short", as: here, on: api) == (422, "invalid_new"))
      #expect(try await change("a password", to: "another password", as: nil, on: api) == (401, "not_signed_in"))
      #expect(try await isOpen(elsewhere, on: api))

      #expect(try await change("a password", to: "another password", as: here, on: api) == (204, nil))
      #expect(try await isOpen(here, on: api))
      #expect(try await !isOpen(elsewhere, on: api))
      #expect(try await isOpen(bob, on: api))
      #expect(try await signIn("ann", on: api) == nil)
      #expect(try await signIn("ann", "another password", on: api) != nil)
    }
  }

  @Test func aListThatComesWholeComesInPagesToWhoAsks() async throws {
    try await API.run { api in
      let token = try await api.open("ann")
      for _ in 0..<4 { _ = try await signIn("ann", on: api) }
      func list(_ query: String) async throws -> (ids: [String], next: Int?) {
        let reply = try await api.send("GET", "/v1/me/sessions\(query)", as: token)
        try #require(reply.status == 200, "\(reply.json)")
        return (reply.items.compactMap { $0["id"] as? String }, reply.json["next"] as? Int)
      }
      let whole = try await list("")
      #expect(whole.ids.count == 5 && whole.next == nil)
      var (ids, next) = try await list("?limit=2")
      while let cursor = next {
        let page = try await list("?limit=2&before=\(cursor)")
        ids += page.ids
        next = page.next
      }
      #expect(ids == whole.ids)
      for past in [5, 9] { #expect(try await list("?before=\(past)") == ([], nil)) }
      for (query, code) in [
        ("limit=0", "invalid_limit"), ("limit=x", "invalid_limit"), ("before=-1", "invalid_before"),
      ] {
        #expect(try await api.send("GET", "/v1/me/sessions?\(query)", as: token).code == code)
      }
    }
  }

  @Test func aSessionIsNoPlaceToGuessFrom() async throws {
    try await API.run { api in
      let token = try await api.open("ann")
      for _ in 0..<20 { #expect(try await change("a guess of it", to: "another one", as: token, on: api).0 == 403) }
      #expect(try await change("a password", to: "another one", as: token, on: api) == (429, "too_many_attempts"))
      // Another account's guesses do not count here.
      let bob = try await api.open("bob")
      #expect(try await change("a password", to: "another one", as: bob, on: api) == (204, nil))
    }
  }

  @Test func ofTwoChangesAtOnceOneIsRefused() async throws {
    try await API.run { api in
      let (one, two) = (try await api.open("ann"), try #require(try await signIn("ann", on: api)))
      async let first = change("a password", to: "the first of two", as: one, on: api)
      async let second = change("a password", to: "the second of two", as: two, on: api)
      let statuses = try await [first.0, second.0].sorted()
      // The later one finds the password changed, or its session ended.
      #expect(statuses[0] == 204 && [401, 403].contains(statuses[1]), "\(statuses)")
      #expect(try await [isOpen(one, on: api), isOpen(two, on: api)].filter { $0 }.count == 1)
    }
  }

  @Test func anOwnerSeesTheirSessionsAndEndsThem() async throws {
    try await API.run { api in
      let (here, bob) = (try await api.open("ann"), try await api.open("bob"))
      let there = try #require(try await signIn("ann", on: api))
      let third = try #require(try await signIn("ann", on: api))
      let sessions = try await api.send("GET", "/v1/me/sessions", as: here).items
      #expect(sessions.count == 3)
      #expect(sessions.map { $0["isCurrent"] as? Bool } == [false, false, true])
      #expect(sessions.allSatisfy { $0["network"] as? String == "127.0.0.0/24" }, "\(sessions)")
      #expect(sessions.allSatisfy { $0["createdAt"] is String && $0["expiresAt"] is String })
      let text = String(describing: sessions)
      #expect(![here, there, third].contains { text.contains($0) })

      let id = try #require(sessions[0]["id"] as? String)
      // No other account can end it.
      #expect(try await api.send("DELETE", "/v1/me/sessions/\(id)", as: bob).status == 404)
      #expect(try await api.send("DELETE", "/v1/me/sessions/\(id)").status == 401)
      #expect(try await isOpen(third, on: api))
      #expect(try await api.send("DELETE", "/v1/me/sessions/\(id)", as: here).status == 204)
      #expect(try await !isOpen(third, on: api))
      #expect(try await api.send("DELETE", "/v1/me/sessions/\(id)", as: here).status == 404)

      #expect(try await api.send("DELETE", "/v1/me/sessions", as: here).status == 204)
      #expect(try await isOpen(here, on: api))
      #expect(try await !isOpen(there, on: api))
      #expect(try await isOpen(bob, on: api))
    }
  }
}
