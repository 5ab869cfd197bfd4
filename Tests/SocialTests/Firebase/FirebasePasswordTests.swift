import DurableJobs
import LibPQClient
import Testing

@testable import Social

/// Passwords that come from Firebase: its published test vector, from https://github.com/firebase/scrypt.
@Suite(.timeLimit(.minutes(2))) struct FirebasePasswordTests {
  static let config = """
    hash_config {
      algorithm: SCRYPT,
      base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
      base64_salt_separator: Bw==,
      rounds: 8,
      mem_cost: 14,
    }
    """
  static let hash = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
  static let salt = "42xEC+ixf3L2lw=="
  static let password = "user1password"

  @Test func thePublishedVectorMatches() throws {
    let text = try FirebaseScrypt(Self.config).stored(hash: Self.hash, salt: Self.salt)
    #expect(text.hasPrefix("$firebase-scrypt$ln=14,r=8,p=1$"))
    let stored = try #require(PasswordHash(text))
    #expect(stored.description == text)
    #expect(try stored.matches(Self.password))
    #expect(try !stored.matches("user1passworD"))
    #expect(try !stored.matches(""))
    #expect(stored.isWeaker(than: PasswordHash.standard))
    // The key of the project is in no part of it.
    #expect(!text.contains("jxspr8Ki0RYycVU8"))
  }

  @Test func theHashIsOfWhatTheKeyboardProduced() throws {
    let scrypt = try FirebaseScrypt(Self.config)
    // With the signer key as the hash, the key stream is zeros: no password has it.
    let none = try scrypt.stored(
      hash: "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
      salt: Self.salt)
    #expect(try PasswordHash(none)?.matches("gru\u{308}n") == false)
  }

  @Test(arguments: [
    #"{"algorithm":"SCRYPT","base64_signer_key":"jxspr8Ki","base64_salt_separator":"Bw==","rounds":8,"mem_cost":14}"#,
    "base64_signer_key=jxspr8Ki base64_salt_separator=Bw== rounds=8 mem_cost=14",
  ])
  func parametersMayBeWrittenInOtherWays(text: String) throws { _ = try FirebaseScrypt(text) }

  @Test(arguments: [
    "", "algorithm: BCRYPT", "base64_signer_key: ???", "base64_signer_key: AAAA, rounds: 8, mem_cost: 14",
    "base64_signer_key: AAAA, base64_salt_separator: Bw==, rounds: 0, mem_cost: 14",
    "base64_signer_key: AAAA, base64_salt_separator: Bw==, rounds: 8, mem_cost: 15",
    "base64_signer_key: AAAA, base64_salt_separator: Bw==, rounds: 9, mem_cost: 14",
    "base64_signer_key: AAAA, base64_salt_separator: , rounds: 8, mem_cost: 14",
  ])
  func otherParametersAreRefused(text: String) {
    #expect(throws: FirebaseScrypt.Refusal.self) { _ = try FirebaseScrypt(text) }
  }

  @Test func aHashOfAnotherProjectIsRefused() throws {
    let scrypt = try FirebaseScrypt(Self.config)
    #expect(throws: FirebaseScrypt.Refusal.self) { _ = try scrypt.stored(hash: "AAAA", salt: Self.salt) }
    #expect(throws: FirebaseScrypt.Refusal.self) { _ = try scrypt.stored(hash: Self.hash, salt: "") }
  }

  @Test func theFirstSignInRenewsTheHashOnce() async throws {
    let hasher = PasswordHasher(threads: 2, limit: 8, parameters: (logarithm: 4, blockSize: 8, parallelism: 3))
    let client = ClientAddress("192.0.2.1")
    let text = try FirebaseScrypt(Self.config).stored(hash: Self.hash, salt: Self.salt)
    try await App.run { app in
      try await app.pool.execute(
        "INSERT INTO accounts (username, email, password_hash) VALUES ('ann', 'ann@example.org', \(text))")
      let attempts = AttemptBook(pool: app.pool, memory: .zero)
      @Sendable func signIn(_ password: String) async throws -> Sessions.Authenticated {
        try await Sessions.authenticate(
          email: "ann@example.org", password: password, from: client, hasher: hasher, attempts: attempts, in: app.pool)
      }
      func kept() async throws -> String {
        try await app.pool.query("SELECT password_hash FROM accounts")[0].decode(String.self)
      }
      #expect(try await code { _ = try await signIn("a guess") } == .wrongCredentials)
      #expect(try await kept() == text)
      let known = try await signIn(Self.password)
      let renewed = try await kept()
      #expect(renewed.hasPrefix("$scrypt$ln=4,r=8,p=3$"))
      // A session opens although the hash is another one since.
      _ = try await app.pool.transaction { try await Sessions.open(for: known, in: $0) }
      _ = try await signIn(Self.password)
      #expect(try await kept() == renewed)
      #expect(try await code { _ = try await signIn("a guess") } == .wrongCredentials)
    }
  }

  @Test func aCheckMakesUpForWhatACheapHashSaves() async throws {
    // A cost for which the rest would have more passes than scrypt takes.
    let least = "base64_signer_key=AAAA base64_salt_separator=Bw== rounds=1 mem_cost=1"
    let text = try FirebaseScrypt(least).stored(hash: "AAAA", salt: Self.salt)
    #expect(try await PasswordHasher(threads: 1).check("a guess", against: text, for: "192.0.2.1") == false)
    let stored = try #require(PasswordHash(text))
    #expect(stored.derivations(of: "a guess") == 1)
    // What the keyboard produced is tried too, which the rest is to make up for.
    #expect(stored.derivations(of: "gru\u{308}n") == 2)
    let own = try PasswordHash(of: "x", parameters: (logarithm: 1, blockSize: 1, parallelism: 1))
    #expect(own.derivations(of: "gru\u{308}n") == 1)
  }

  @Test func guessesAreLimited() async throws {
    // A hash that is cheap to check: the limit counts guesses, not time.
    let cheap = "base64_signer_key=AAAA base64_salt_separator=Bw== rounds=1 mem_cost=4"
    let hasher = PasswordHasher(threads: 2, limit: 8, parameters: (logarithm: 4, blockSize: 1, parallelism: 1))
    let client = ClientAddress("192.0.2.1")
    let text = try FirebaseScrypt(cheap).stored(hash: "AAAA", salt: Self.salt)
    try await App.run { app in
      try await app.pool.execute(
        "INSERT INTO accounts (username, email, password_hash) VALUES ('ann', 'ann@example.org', \(text))")
      let attempts = AttemptBook(pool: app.pool, memory: .zero)
      var codes: [SocialError.Code?] = []
      for number in 0..<25 {
        codes.append(
          try await code {
            _ = try await Sessions.authenticate(
              email: "ann@example.org", password: "guess \(number)", from: client, hasher: hasher, attempts: attempts,
              in: app.pool)
          })
      }
      #expect(codes.prefix(20).allSatisfy { $0 == .wrongCredentials })
      #expect(codes.suffix(5).allSatisfy { $0 == .tooManyAttempts })
    }
  }
}
