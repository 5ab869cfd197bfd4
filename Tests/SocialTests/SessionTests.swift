import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct SessionTests {
  /// As weak as possible, for the speed of tests.
  private let weak = (logarithm: 4, blockSize: 1, parallelism: 1)

  @Test func derivesWhatTheStandardSays() throws {
    // RFC 7914, section 12: scrypt of "pleaseletmein" with the salt "SodiumChloride", N = 16384, r = 8, p = 1.
    let salt = Data("SodiumChloride".utf8).base64EncodedString().replacing("=", with: "")
    let bytes: [UInt8] = [
      0x70, 0x23, 0xbd, 0xcb, 0x3a, 0xfd, 0x73, 0x48, 0x46, 0x1c, 0x06, 0xcd, 0x81, 0xfd, 0x38, 0xeb, 0xfd, 0xa8, 0xfb,
      0xba,
      0x90, 0x4f, 0x8e, 0x3e, 0xa9, 0xb5, 0x43, 0xf6, 0x54, 0x5d, 0xa1, 0xf2, 0xd5, 0x43, 0x29, 0x55, 0x61, 0x3f, 0x0f,
      0xcf,
      0x62, 0xd4, 0x97, 0x05, 0x24, 0x2a, 0x9a, 0xf9, 0xe6, 0x1e, 0x85, 0xdc, 0x0d, 0x65, 0x1e, 0x40, 0xdf, 0xcf, 0x01,
      0x7b,
      0x45, 0x57, 0x58, 0x87,
    ]
    let hash = Data(bytes).base64EncodedString().replacing("=", with: "")
    let known = try #require(PasswordHash("$scrypt$ln=14,r=8,p=1$\(salt)$\(hash)"))
    #expect(try known.matches("pleaseletmein"))
    #expect(try !known.matches("pleaseletmeiN"))
    #expect(known.description == "$scrypt$ln=14,r=8,p=1$\(salt)$\(hash)")
  }

  /// In the form of earlier versions' databases, whose hashes came from another library.
  @Test(arguments: [
    (
      "correct horse battery staple",
      "$scrypt$ln=15,r=8,p=3$AwoRGB8mLTQ7QklQV15lbA$wbUTnuI1Sn+/spDIxs/4Jg69wF+fIvkBtLfkKgpyG30"
    ),
    ("", "$scrypt$ln=4,r=8,p=1$AwoRGB8mLTQ7QklQV15lbA$BaI5aaMwB7deLz+OUh9TQem+vSRh2lWyJN0LWKUjXuw"),
    ("pa\u{0} ss", "$scrypt$ln=10,r=8,p=2$AwoRGB8mLTQ7QklQV15lbA$bRmghSFFykNsXGy941sdUFGlMiubBPtIMveh2MpG6Fo"),
    // With letters typed in decomposed form.
    (
      "na\u{303}o \u{1112}\u{1161}\u{11AB}",
      "$scrypt$ln=14,r=8,p=1$AwoRGB8mLTQ7QklQV15lbA$4RNYwqV7XUm+pCOzEguSEniJiIIXHFqizEOiPHpnjow"
    ),
  ])
  func passwordsHashedByEarlierVersionsMatch(password: String, kept: String) throws {
    let hash = try #require(PasswordHash(kept))
    #expect(try hash.matches(password))
    #expect(try !hash.matches(password + "."))
    let parameters = (logarithm: hash.logarithm, blockSize: hash.blockSize, parallelism: hash.parallelism)
    #expect(try PasswordHash(of: password, parameters: parameters, salt: hash.salt).description == kept)
  }

  @Test func sessionsAndKeysAreFoundByTheHashesOfEarlierVersions() throws {
    let token = try #require(SessionToken("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"))
    #expect(
      token.hash == [
        234, 134, 106, 117, 126, 76, 56, 186, 191, 168, 18, 124, 190, 154, 64, 157, 62, 31, 147, 160, 15, 241, 72, 143,
        247, 53, 252, 249, 23, 175, 255, 208,
      ])
    #expect(YouTubeKey("AIza-test-key-1").label == "1df50bfe54f3")
  }

  @Test(arguments: [
    "", "plain", "$scrypt$", "$argon2id$ln=4,r=1,p=1$AAAA$AAAA", "$scrypt$ln=40,r=8,p=1$AAAA$AAAA",
    "$scrypt$ln=4,r=1$AAAA$AAAA", "$scrypt$ln=4,r=0,p=1$AAAA$AAAA", "$scrypt$ln=4,r=1,p=1$AAAA$",
    "$scrypt$ln=4,r=1,p=1$!!!!$AAAA",
  ])
  func refusesWhatIsNoHash(text: String) { #expect(PasswordHash(text) == nil) }

  @Test func checksPasswords() async throws {
    let hasher = PasswordHasher(threads: 2, limit: 8, parameters: weak)
    let hash = try await hasher.hash("correct horse", for: "c")
    let other = try await hasher.hash("correct horse", for: "c")
    #expect(hash != other)
    #expect(hash.hasPrefix("$scrypt$ln=4,r=1,p=1$"))
    #expect(try await hasher.check("correct horse", against: hash, for: "c"))
    #expect(try await hasher.check("correct horse", against: other, for: "c"))
    #expect(try await !hasher.check("correct horsf", against: hash, for: "c"))
    #expect(try await !hasher.check("correct horse", against: nil, for: "c"))
    #expect(try await !hasher.check("", against: "no hash", for: "c"))
    // The same letters, composed and decomposed.
    let composed = try await hasher.hash("gr\u{fc}n und blau", for: "c")
    #expect(try await hasher.check("gru\u{308}n und blau", against: composed, for: "c"))
  }

  @Test func refusesMorePasswordsThanItCanCheckInGoodTime() async throws {
    let hasher = PasswordHasher(threads: 1, limit: 2, parameters: (logarithm: 12, blockSize: 8, parallelism: 1))
    let refused = await withTaskGroup(of: SocialError.Code?.self) { group in
      for _ in 0..<12 {
        group.addTask {
          do { _ = try await hasher.hash("a password", for: "c") } catch { return (error as? SocialError)?.code }
          return nil
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(refused.contains(.busy))
    #expect(refused.contains(nil))
    #expect(try await hasher.hash("a password", for: "c").isEmpty == false)
  }

  @Test func signsInAndOut() async throws {
    let hasher = PasswordHasher(threads: 2, limit: 8, parameters: weak)
    try await App.run { app in
      let ann = try Registration(username: "ann", email: "Ann@example.org", password: "long enough", name: "Ann")
      let hash = try await hasher.hash(ann.password, for: "c")
      let id = try await app.pool.transaction { try await Accounts.open(ann, passwordHash: hash, in: $0).id }
      let attempts = AttemptBook(pool: app.pool, memory: .zero)
      func signIn(_ email: String, _ password: String) async throws -> Int {
        try await Sessions.authenticate(
          email: email, password: password, from: ClientAddress("192.0.2.1"), hasher: hasher, attempts: attempts,
          in: app.pool
        ).account
      }
      #expect(try await signIn("ann@EXAMPLE.org", "long enough") == id)
      for (email, password) in [
        ("ann@example.org", "wrong"), ("bob@example.org", "long enough"), ("a\0", "x"), ("", ""),
      ] {
        #expect(try await code { _ = try await signIn(email, password) } == .wrongCredentials)
      }
      let token = try await app.pool.transaction { try await Sessions.open(for: id, in: $0) }
      #expect(token.text.utf8.count == 43)
      #expect(SessionToken(token.text) == token)
      #expect(try await Sessions.viewer(token, in: app.pool) == Sessions.Viewer(id: id))
      #expect(try await Sessions.viewer(SessionToken(), in: app.pool) == nil)
      // Only its hash is stored.
      #expect(try await app.count("SELECT count(*) FROM sessions WHERE token_hash = \(Array(token.text.utf8))") == 0)
      let old = try await app.pool.transaction { try await Sessions.open(for: id, in: $0) }
      try await app.pool.transaction { try await Sessions.close(token, in: $0) }
      #expect(try await Sessions.viewer(token, in: app.pool) == nil)
      #expect(try await Sessions.viewer(old, in: app.pool) != nil)
      try await app.pool.execute("UPDATE sessions SET expires_at = now() - interval '1 second'")
      #expect(try await Sessions.viewer(old, in: app.pool) == nil)
      #expect(try await app.pool.transaction { try await Sessions.sweep(in: $0) } == 1)
    }
  }

  @Test func nobodyTriesManyPasswords() async throws {
    let hasher = PasswordHasher(threads: 2, limit: 100, parameters: weak)
    try await App.run { app in
      let ann = try Registration(username: "ann", email: "ann@example.org", password: "long enough", name: "Ann")
      let hash = try await hasher.hash(ann.password, for: "c")
      let id = try await app.pool.transaction { try await Accounts.open(ann, passwordHash: hash, in: $0).id }
      let attempts = AttemptBook(pool: app.pool, memory: .zero)
      let signIn = { @Sendable (email: String, password: String) async throws -> SocialError.Code? in
        do {
          let found = try await Sessions.authenticate(
            email: email, password: password, from: ClientAddress("192.0.2.1"), hasher: hasher, attempts: attempts,
            in: app.pool)
          #expect(found.account == id)
          return nil
        } catch let error as SocialError {
          #expect(error.code != .tooManyAttempts || (1...900).contains(error.retryAfter ?? 0))
          return error.code
        }
      }
      // A correct password resets the wrong tries before it.
      for _ in 1..<AttemptLimit.signIn.limit {
        #expect(try await signIn("ann@example.org", "wrong") == .wrongCredentials)
      }
      #expect(try await signIn("ann@example.org", "long enough") == nil)
      // Wrong tries still count for the client and for the address from everywhere; the correct one does not.
      let counts = try await app.pool.query("SELECT attempts FROM sign_in_attempts").decode(Int32.self)
      #expect(counts == [Int32](repeating: Int32(AttemptLimit.signIn.limit - 1), count: 2))
      try await app.pool.execute("DELETE FROM sign_in_attempts")
      for email in ["ann@example.org", "nobody@example.org"] {
        let answers = try await withThrowingTaskGroup(of: SocialError.Code?.self) { group in
          for number in 0..<(2 * AttemptLimit.signIn.limit) {
            group.addTask { try await signIn(number % 2 == 0 ? email : email.uppercased(), "guess \(number)") }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.filter { $0 == .wrongCredentials }.count == AttemptLimit.signIn.limit)
        #expect(answers.filter { $0 == .tooManyAttempts }.count == AttemptLimit.signIn.limit)
      }
      #expect(try await signIn("ann@example.org", "long enough") == .tooManyAttempts)
      #expect(try await app.pool.transaction { try await AttemptBook.sweep(upTo: 10, in: $0) } == 0)
      try await app.pool.execute("UPDATE sign_in_attempts SET since = since - interval '16 minutes'")
      #expect(try await signIn("ann@example.org", "long enough") == nil)
      #expect(try await app.pool.transaction { try await AttemptBook.sweep(upTo: 10, in: $0) } == 2)
    }
  }

  @Test(arguments: [
    "", "short", String(repeating: "a", count: 44), String(repeating: "=", count: 43),
    String(repeating: "ä", count: 43),
  ])
  func noTokenIsMadeOf(text: String) { #expect(SessionToken(text) == nil) }

  @Test func idempotencyKeysAnswerTheSameAgain() async throws {
    try await App.run { app in
      let hash: [UInt8] = [1, 2, 3]
      func claim(_ key: String, _ account: Int?, _ hash: [UInt8]) async throws -> IdempotencyKeys.Claim {
        try await app.pool.transaction { transaction in
          let request = try IdempotencyKeys.Request(key, account: account, hash: hash)
          let claim = try await IdempotencyKeys.claim(request, in: transaction)
          if claim == .first { try await IdempotencyKeys.record([(request, 201, [42])], in: transaction) }
          return claim
        }
      }
      #expect(try await claim("k", 1, hash) == .first)
      #expect(try await claim("k", 1, hash) == .answered(status: 201, body: [42]))
      #expect(try await claim("k", 2, hash) == .first)
      #expect(try await claim("k", nil, hash) == .first)
      #expect(try await code { _ = try await claim("k", 1, [9]) } == .idempotencyKeyReused)
      #expect(try await code { _ = try await claim("", 1, hash) } == .invalid("Idempotency-Key"))
      // The second of two concurrent requests waits for the first and gets its response.
      let held = try await app.hold { transaction in
        let both = try IdempotencyKeys.Request("both", account: 1, hash: hash)
        _ = try await IdempotencyKeys.claim(both, in: transaction.sql)
        try await IdempotencyKeys.record([(both, 200, [])], in: transaction.sql)
      }
      async let second = claim("both", 1, hash)
      try await held.commit()
      #expect(try await second == .answered(status: 200, body: []))
      #expect(try await app.pool.transaction { try await IdempotencyKeys.sweep(olderThan: 0, in: $0) } == 4)
    }
  }

  @Test func keysOfABatchAreClaimedEachForItself() async throws {
    try await App.run { app in
      func request(_ key: String, _ hash: UInt8 = 1) throws -> IdempotencyKeys.Request {
        try IdempotencyKeys.Request(key, account: 1, hash: [hash])
      }
      let (kept, refused, new) = (try request("kept"), try request("refused"), try request("new"))
      try await app.pool.transaction { transaction in
        let claims = try await IdempotencyKeys.claim([refused, kept], in: transaction)
        #expect(claims == [.success(.first), .success(.first)])
        try await IdempotencyKeys.record([(kept, 201, [42])], in: transaction)
        try await IdempotencyKeys.release([refused], in: transaction)
      }
      let claims = try await app.pool.transaction { transaction in
        try await IdempotencyKeys.claim([new, kept, refused], in: transaction)
      }
      #expect(claims == [.success(.first), .success(.answered(status: 201, body: [42])), .success(.first)])
      let reused = try await app.pool.transaction { transaction in
        try await IdempotencyKeys.claim([request("kept", 2), request("fresh")], in: transaction)
      }
      #expect(reused.map { (try? $0.get()) } == [nil, .first])
    }
  }
}
