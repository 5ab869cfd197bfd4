import Foundation
import LibPQClient
import Testing

@testable import Social

/// The limits on guessing passwords and tokens.
@Suite(.timeLimit(.minutes(5))) struct GuessRouteTests {
  @Test func guessedAdminTokensAreCountedAtEveryDoor() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      // An account's request for an operators' route is not a guess.
      for _ in 0...AttemptLimit.adminToken.limit {
        #expect(try await api.send("GET", "/v1/jobs/1", as: ann).status == 403)
      }
      #expect(try await api.send("GET", "/v1/autoscaling/x", as: adminToken).status == 503)
      let paths = ["/v1/jobs/1", "/v1/autoscaling/fanout"]
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<24 {
          let guess = number % 2 == 0 ? "a guess, number \(number)" : SessionToken().text
          group.addTask { try await api.send("GET", paths[number % 2], as: guess).status }
        }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 401 } == AttemptLimit.adminToken.limit)
      #expect(statuses.count { $0 == 429 } == 24 - AttemptLimit.adminToken.limit)
      let right = try await api.send("GET", "/v1/jobs/1", as: adminToken)
      #expect((right.status, right.code) == (429, "too_many_attempts"))
      #expect((1...900).contains(Int(right.headers["retry-after"] ?? "") ?? 0))
      // Requests without an admin token continue to work.
      #expect(try await api.send("GET", "/v1/me", as: ann).status == 200)
      try await api.pool.execute("UPDATE sign_in_attempts SET since = since - interval '15 minutes'")
      #expect(try await api.send("GET", "/v1/autoscaling/x", as: adminToken).status == 503)
    }
  }

  @Test func whoTriesManyTokensCostsNobodyASignIn() async throws {
    // One password may wait: if anything were hashed for an invalid token, sign-ins would be refused.
    let hasher = PasswordHasher(threads: 1, limit: 1, parameters: (logarithm: 14, blockSize: 8, parallelism: 1))
    try await API.run(hasher: hasher) { api in
      _ = try await api.open("ann")
      try await count("reset token by 127.0.0.1", AttemptLimit.resetTokenByClient.limit - 8, on: api)
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 {
          group.addTask {
            let token = SessionToken().text
            return try await api.send("POST", "/v1/password-resets/\(token)", #"{"password":"a password"}"#).status
          }
        }
        for _ in 0..<5 { #expect(try await signIn("ann", "a password", on: api).status == 201) }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 404 } == 8)
      #expect(statuses.count { $0 == 429 } == 12)
      // A valid token still works: it is found before anything is counted.
      let token = try await api.pool.transaction { transaction in
        try await PasswordResets.issue(for: try await Accounts.id(of: "ann", in: transaction), in: transaction).text
      }
      let chosen = try await api.send("POST", "/v1/password-resets/\(token)", #"{"password":"another one"}"#)
      #expect(chosen.status == 204)
      #expect(try await signIn("ann", "another one", on: api).status == 201)
    }
  }

  @Test func aClientTriesFewPasswordsWhosever() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      try await count("sign-in by 127.0.0.1", AttemptLimit.signInByClient.limit - 3, on: api)
      for number in 0..<3 {
        #expect(try await signIn("nobody\(number)", "a guess", on: api).status == 401)
        // Correct passwords reset their own count.
        if number < 2 { #expect(try await signIn("ann", "a password", on: api).status == 201) }
      }
      let refused = try await signIn("nobody", "a guess", on: api)
      #expect((refused.status, refused.code) == (429, "too_many_attempts"))
      #expect((refused.json["detail"] as? String)?.contains("your network address") == true)
    }
  }

  @Test func aClientAsksForFewAccounts() async throws {
    try await API.run { api in
      try await count("sign-up by 127.0.0.1", AttemptLimit.signUpByClient.limit - 1, on: api)
      #expect(try await api.send("POST", "/v1/accounts", API.registration("ann")).status == 201)
      let refused = try await api.send("POST", "/v1/accounts", API.registration("bob"))
      #expect((refused.status, refused.code) == (429, "too_many_attempts"))
    }
  }

  @Test func aStrangersWrongPasswordsDoNotKeepTheOwnerOut() async throws {
    try await API.run(proxies: try TrustedProxies(["127.0.0.0/8"])) { api in
      _ = try await api.open("ann")
      for number in 0..<AttemptLimit.signIn.limit + 5 {
        let reply = try await signIn("ann", "a guess", from: "198.51.100.7", on: api)
        #expect(reply.status == (number < AttemptLimit.signIn.limit ? 401 : 429))
      }
      // For any account from there: the client is refused, and no other client is.
      #expect(try await signIn("ann", "a password", from: "198.51.100.7", on: api).status == 429)
      #expect(try await signIn("ann", "a password", from: "203.0.113.1", on: api).status == 201)
      // The same client over IPv4-mapped IPv6, and one with a forged address.
      #expect(try await signIn("ann", "a password", from: "::ffff:198.51.100.7", on: api).status == 429)
      #expect(try await signIn("ann", "a password", from: "203.0.113.9, 198.51.100.7", on: api).status == 429)
    }
  }

  @Test func withoutTrustedProxiesNobodyIsBelieved() async throws {
    try await API.run { api in
      _ = try await api.open("ann")
      for number in 0..<AttemptLimit.signIn.limit {
        #expect(try await signIn("ann", "a guess", from: "198.51.100.\(number)", on: api).status == 401)
      }
      #expect(try await signIn("ann", "a password", from: "203.0.113.1", on: api).status == 429)
    }
  }

  @Test func guessesFromEverywhereAreFewAndTheOwnerStillGetsIn() async throws {
    try await API.run(proxies: try TrustedProxies(["127.0.0.1"])) { api in
      // Signed up from one network, signed in from another.
      let opened = try await api.send("POST", "/v1/accounts", from: "203.0.113.1", API.registration("ann"))
      #expect(opened.status == 201)
      #expect(try await signIn("ann", "a password", from: "2001:db8:1:2::3", on: api).status == 201)
      try await count("sign-in to ann@example.org", AttemptLimit.signInFromEverywhere.limit - 10, on: api)
      for number in 0..<15 {
        let status = try await signIn("ann", "a guess", from: "198.51.\(number).1", on: api).status
        #expect(status == (number < 10 ? 401 : 429))
      }
      #expect(try await signIn("ann", "a password", from: "192.0.2.1", on: api).status == 429)
      // From the same networks, at other addresses.
      for origin in ["203.0.113.77", "2001:db8:1:ffff::9"] {
        #expect(try await signIn("ann", "a password", from: origin, on: api).status == 201)
      }
      #expect(try await signIn("ann", "a password", from: "203.0.114.1", on: api).status == 429)
      // Guesses from there are limited too.
      let network = "sign-in from network to 203.0.113.0/24 ann@example.org"
      try await count(network, AttemptLimit.signInFromNetwork.limit - 3, on: api)
      for number in 0..<5 {
        let status = try await signIn("ann", "a guess", from: "203.0.113.\(100 + number)", on: api).status
        #expect(status == (number < 3 ? 401 : 429))
      }
      #expect(try await signIn("ann", "a password", from: "2001:db8:1::1", on: api).status == 201)
      // A network is forgotten after ninety days.
      try await api.pool.execute("UPDATE account_networks SET seen_at = seen_at - interval '90 days'")
      #expect(try await signIn("ann", "a password", from: "2001:db8:1::1", on: api).status == 429)
      // An unknown address gets the same replies.
      try await count("sign-in to nobody@example.org", AttemptLimit.signInFromEverywhere.limit - 1, on: api)
      #expect(try await signIn("nobody", "a guess", from: "198.51.100.2", on: api).status == 401)
      #expect(try await signIn("nobody", "a guess", from: "203.0.113.1", on: api).status == 429)
    }
  }

  /// Sets the count of tries.
  private func count(_ subject: String, _ tries: Int, on api: API) async throws {
    try await api.pool.execute(
      """
      INSERT INTO sign_in_attempts (address_hash, attempts, since)
      VALUES (sha256(convert_to(\(subject), 'UTF8')), \(Int32(tries)), now())
      ON CONFLICT (address_hash) DO UPDATE SET attempts = excluded.attempts
      """)
  }

  private func signIn(
    _ name: String, _ password: String, from origin: String? = nil, on api: API
  ) async throws -> API.Reply {
    try await api.send(
      "POST", "/v1/sessions", from: origin, #"{"email":"\#(name)@example.org","password":"\#(password)"}"#)
  }

  @Test func elsewhereTheAdminTokenIsATokenLikeAnyOther() async throws {
    try await API.run { api in
      let replies = [
        try await api.send("GET", "/v1/me", as: adminToken), try await api.send("GET", "/v1/me", as: "a guess"),
      ]
      for reply in replies { #expect((reply.status, reply.code) == (401, "not_signed_in")) }
      #expect(replies[0].json["detail"] as? String == replies[1].json["detail"] as? String)
    }
  }
}
