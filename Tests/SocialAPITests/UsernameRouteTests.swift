import Foundation
import LibPQClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct UsernameRouteTests {
  /// Opens an account without a username and returns the generated one.
  private func open(_ name: String, email: String, on api: API) async throws -> String {
    let reply = try await api.send(
      "POST", "/v1/accounts", #"{"email":"\#(email)","password":"a password","name":"\#(name)"}"#)
    try #require(reply.status == 201, "\(reply.json)")
    return try #require(reply.json["username"] as? String)
  }

  private func rename(_ name: String, as token: String, on api: API) async throws -> (Int, String?) {
    let reply = try await api.send("PATCH", "/v1/me", as: token, #"{"username":"\#(name)"}"#)
    return (reply.status, reply.code)
  }

  @Test func whoChoosesNoUsernameGetsOneOfTheirName() async throws {
    try await API.run { api in
      #expect(try await open("김민지", email: "a@example.org", on: api) == "gimminji")
      let second = try await open("김민지", email: "b@example.org", on: api)
      #expect(second.hasPrefix("gimminji") && second != "gimminji")
      #expect(try await open("Ann Lee", email: "c@example.org", on: api) == "annlee")
      #expect(try await open("🙂", email: "d@example.org", on: api) == "user")
      let again = #"{"email":"e@example.org","password":"a password","name":"Ann Lee"}"#
      let first = try await api.send("POST", "/v1/accounts", key: "k", again)
      #expect(
        try await api.send("POST", "/v1/accounts", key: "k", again).json["username"] as? String
          == first.json["username"] as? String)
    }
  }

  @Test func aNameThatWasGivenUpLeadsToTheNewOneAndIsNobodyElses() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      #expect(try await rename("anna", as: ann, on: api) == (200, nil))
      #expect(try await api.send("GET", "/v1/me", as: ann).json["username"] as? String == "anna")
      let moved = try await api.send("GET", "/v1/users/ANN/posts?limit=3", as: bob)
      #expect((moved.status, moved.code) == (301, "moved"))
      #expect(moved.headers["location"] == "/v1/users/anna/posts?limit=3")
      #expect(moved.json["username"] as? String == "anna")
      // A redirected PUT stays a PUT.
      let follow = try await api.send("PUT", "/v1/users/ann/follow", as: bob)
      #expect(follow.status == 308 && follow.headers["location"] == "/v1/users/anna/follow")
      #expect(try await api.send("PUT", "/v1/users/anna/follow", as: bob).status == 204)

      // A body has no address to redirect to: the name leads to the account there.
      let report = try await api.send("POST", "/v1/reports", as: bob, #"{"user":"ann","reason":"spam"}"#)
      #expect(report.status == 201)
      #expect(
        try await api.pool.query("SELECT a.username FROM reports r JOIN accounts a ON a.id = r.account_id")[0]
          .decode(String.self) == "anna")

      #expect(try await rename("Ann", as: bob, on: api) == (409, "username_taken"))
      let taken = try await api.send("POST", "/v1/accounts", API.registration("ann").replacing("ann@", with: "eve@"))
      #expect((taken.status, taken.code) == (409, "username_taken"))
      #expect(try await open("Ann", email: "eve@example.org", on: api) != "ann")

      // Its owner can take it back, and it is the same name in another case.
      #expect(try await rename("ANN", as: ann, on: api) == (200, nil))
      #expect(try await rename("ann", as: ann, on: api) == (200, nil))
      #expect(try await api.send("GET", "/v1/users/ann", as: bob).status == 200)
      #expect(try await api.send("GET", "/v1/users/anna", as: bob).headers["location"] == "/v1/users/ann")

      // When its time is over, any account may take it.
      try await api.pool.execute("UPDATE former_usernames SET kept_until = now() WHERE username = 'anna'")
      #expect(try await api.send("GET", "/v1/users/anna", as: bob).status == 404)
      #expect(try await rename("anna", as: bob, on: api) == (200, nil))
      #expect(try await api.send("GET", "/v1/users/anna", as: ann).status == 200)
      #expect(try await api.send("GET", "/v1/users/bob", as: ann).headers["location"] == "/v1/users/anna")
    }
  }

  @Test func namesAreNotHoarded() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      for number in 1...5 { #expect(try await rename("ann\(number)", as: ann, on: api) == (200, nil)) }
      #expect(try await rename("ann6", as: ann, on: api) == (429, "too_many_usernames"))
      #expect(try await api.send("GET", "/v1/me", as: ann).json["username"] as? String == "ann5")
    }
  }

  @Test func ofAllWhoRaceForANameOneHasIt() async throws {
    try await API.run { api in
      var tokens: [String] = []
      for number in 0..<16 { tokens.append(try await api.open("racer\(number)")) }
      let won = try await withThrowingTaskGroup(of: Int.self) { [tokens] group in
        for token in tokens { group.addTask { try await rename("star", as: token, on: api).0 } }
        for number in 0..<48 {
          group.addTask {
            let body = API.registration("star").replacing("star@", with: "s\(number)@")
            return try await api.send("POST", "/v1/accounts", body).status
          }
        }
        var won = 0
        for try await status in group {
          #expect([200, 201, 409].contains(status), "\(status)")
          won += status < 300 ? 1 : 0
        }
        return won
      }
      #expect(won == 1)
      #expect(try await api.count("SELECT count(*) FROM accounts WHERE lower(username) = 'star'") == 1)
    }
  }

  /// While one account gives up a name, others want it: it is reserved for its former owner, whichever comes first.
  @Test func aNameIsKeptFromWhoWaitedForIt() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let (id, bob) = (try await api.count("SELECT id FROM accounts WHERE username = 'ann'"), try await api.open("bob"))
      try await withThrowingTaskGroup(of: (Int, String?).self) { group in
        try await api.pool.transaction { transaction in
          try await transaction.execute("UPDATE accounts SET username = 'anna' WHERE id = \(id)")
          group.addTask { try await rename("ann", as: bob, on: api) }
          try await eventually {
            try await api.count(
              """
              SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'
              """) == 1
          }
        }
        for try await answer in group { #expect(answer == (409, "username_taken")) }
      }
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 200)
    }
  }

  @Test func aNameWithPilesOfMarksIsRefused() async throws {
    try await API.run { api in
      let piled = "a" + String(repeating: "\u{301}", count: 40)
      let body = API.registration("ann").replacing(#""name":"ann""#, with: #""name":"\#(piled)""#)
      let reply = try await api.send("POST", "/v1/accounts", body)
      #expect((reply.status, reply.code) == (422, "invalid_name"))
      // Emoji families and flags count as one character each.
      let family = API.registration("ann").replacing(#""name":"ann""#, with: #""name":"👩🏽‍👩🏽‍👧🏽‍👦🏽 🏴󠁧󠁢󠁥󠁮󠁧󠁿""#)
      #expect(try await api.send("POST", "/v1/accounts", family).status == 201)
    }
  }
}
