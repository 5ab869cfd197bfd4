import DurableJobs
import LibPQClient
import Testing

@testable import Social

/// The cost of guessing a password, and the known networks of an owner.
@Suite(.timeLimit(.minutes(2))) struct GuessTests {
  private static let weak: PasswordHash.Parameters = (logarithm: 4, blockSize: 8, parallelism: 1)
  private static let strong: PasswordHash.Parameters = (logarithm: 4, blockSize: 8, parallelism: 3)

  @Test func aHashCostsWhatIsAskedFor() throws {
    #expect(PasswordHash.standard == (logarithm: 15, blockSize: 8, parallelism: 3))
    let hash = try PasswordHash(of: "a password")
    #expect(hash.description.hasPrefix("$scrypt$ln=15,r=8,p=3$"))
    #expect(try PasswordHash(hash.description)?.matches("a password") == true)
    #expect(!hash.isWeaker(than: PasswordHash.standard))
    let older = try #require(PasswordHash("$scrypt$ln=15,r=8,p=1$AAAA$AAAA"))
    #expect(older.isWeaker(than: PasswordHash.standard))
  }

  @Test func anOlderHashIsRenewedAtSignIn() async throws {
    let hasher = PasswordHasher(threads: 2, limit: 8, parameters: Self.strong)
    let client = ClientAddress("192.0.2.1")
    try await App.run { app in
      let old = try PasswordHash(of: "long enough", parameters: Self.weak).description
      let ann = try Registration(username: "ann", email: "ann@example.org", password: "long enough", name: "Ann")
      let id = try await app.pool.transaction { try await Accounts.open(ann, passwordHash: old, in: $0).id }
      let attempts = AttemptBook(pool: app.pool, memory: .zero)
      @Sendable func signIn(_ password: String) async throws -> Sessions.Authenticated {
        try await Sessions.authenticate(
          email: ann.email, password: password, from: client, hasher: hasher, attempts: attempts, in: app.pool)
      }
      func kept() async throws -> String {
        try await app.pool.query("SELECT password_hash FROM accounts")[0].decode(String.self)
      }
      // A wrong password renews nothing.
      #expect(try await code { _ = try await signIn("a guess") } == .wrongCredentials)
      #expect(try await kept() == old)
      // Two concurrent sign-ins: whichever renews it, both succeed.
      async let one = signIn("long enough")
      async let other = signIn("long enough")
      for known in try await [one, other] {
        _ = try await app.pool.transaction { try await Sessions.open(for: known, in: $0) }
      }
      let renewed = try await kept()
      #expect(renewed.hasPrefix("$scrypt$ln=4,r=8,p=3$"))
      let known = try await signIn("long enough")
      #expect(try await kept() == renewed, "what is strong enough stays")
      // A password changed meanwhile rejects the old one, and is not overwritten by the renewal.
      let chosen = try await hasher.hash("another one", for: "c")
      try await app.pool.execute("UPDATE accounts SET password_hash = \(chosen) WHERE id = \(id)")
      let late = try await code { _ = try await app.pool.transaction { try await Sessions.open(for: known, in: $0) } }
      #expect(late == .wrongCredentials)
      #expect(try await kept() == chosen)
    }
  }

  @Test func aRefusalIsRepeatedWithoutAskingForAMoment() async throws {
    try await App.run { app in
      let attempt = AttemptLimit.resetOfAddress.by("ann@example.org")
      let patient = AttemptBook(pool: app.pool, memory: .seconds(600))
      let forgetful = AttemptBook(pool: app.pool, memory: .zero)
      for _ in 0..<AttemptLimit.resetOfAddress.limit { try await patient.count(attempt) }
      #expect(try await code { try await patient.count(attempt) } == .tooManyAttempts)
      try await app.pool.execute("DELETE FROM sign_in_attempts")
      #expect(try await code { try await patient.count(attempt) } == .tooManyAttempts)
      #expect(try await app.count("SELECT count(*) FROM sign_in_attempts") == 0, "nothing was asked")
      #expect(try await code { try await forgetful.count(attempt) } == nil)
    }
  }

  @Test func whereAnOwnerWasIsForgottenAfterNinetyDays() async throws {
    try await App.run { app in
      let ann = try await app.account("ann")
      for network in ["192.0.2.0/24", "198.51.100.0/24", "192.0.2.0/24"] {
        try await app.pool.transaction { try await AccountNetworks.note(network, of: ann, in: $0) }
      }
      #expect(try await app.count("SELECT count(*) FROM account_networks") == 2)
      try await app.pool.execute(
        "UPDATE account_networks SET seen_at = now() - interval '90 days' WHERE network LIKE '198%'")
      try await app.client.enqueue(SessionSweep())
      try await app.drain()
      #expect(try await app.pool.query("SELECT network FROM account_networks").decode(String.self) == ["192.0.2.0/24"])
      // A returning network is known from then on.
      try await app.pool.execute("UPDATE account_networks SET seen_at = now() - interval '80 days'")
      try await app.pool.transaction { try await AccountNetworks.note("192.0.2.0/24", of: ann, in: $0) }
      #expect(
        try await app.count("SELECT count(*) FROM account_networks WHERE seen_at > now() - interval '1 hour'") == 1)
    }
  }
}
