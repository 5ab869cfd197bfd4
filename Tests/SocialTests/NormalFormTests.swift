import DurableJobs
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct NormalFormTests {
  @Test(arguments: [
    ("Ann@Example.org", "ann@example.org"), ("  ann@example.org\n", "ann@example.org"),
    ("u\u{308}ber@example.org", "\u{fc}ber@example.org"), ("\u{c9}VA@example.org", "\u{e9}va@example.org"),
    ("\u{130}iii@example.org", "i\u{307}iii@example.org"), ("\u{212a}@example.org", "k@example.org"),
    ("\u{3000}a b\u{a0}", "a b"), (" \t", ""), ("", ""),
  ])
  func comparesByOneForm(text: String, form: String) {
    #expect(Array(NormalForm.compared(text).unicodeScalars) == Array(form.unicodeScalars))
  }

  @Test func theFormOfAFormIsItself() {
    func scalars(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars) }
    // Letters with case or composition, and white space; not Han, Hangul and the like, which are their own form.
    let ranges: [ClosedRange<UInt32>] = [
      0...0x33FF, 0xA640...0xABFF, 0xF900...0xFFFF, 0x10400...0x10FFF, 0x1E900...0x1E95F,
    ]
    for value in ranges.joined() {
      guard let scalar = Unicode.Scalar(value), scalar.properties.generalCategory != .unassigned else { continue }
      for text in ["\(scalar)", "x\(scalar)\u{307}", "\(scalar)\u{345}x"] {
        let form = NormalForm.compared(text)
        if scalars(NormalForm.compared(form)) != scalars(form) { Issue.record("U+\(String(value, radix: 16))") }
      }
    }
  }

  @Test func everySpellingOfAnAddressIsOneAddress() async throws {
    let hasher = PasswordHasher(
      threads: 2, limit: 64, parameters: (logarithm: 4, blockSize: 1, parallelism: 1))
    try await App.run { app in
      let attempts = AttemptBook(pool: app.pool, memory: .zero)
      func open(_ username: String, _ email: String) async throws -> Int {
        let registration = try Registration(username: username, email: email, password: "long enough", name: " N ")
        let hash = try await hasher.hash(registration.password, for: "c")
        return try await app.pool.transaction { try await Accounts.open(registration, passwordHash: hash, in: $0).id }
      }
      func signIn(_ email: String, _ password: String) async throws -> SocialError.Code? {
        try await code {
          _ = try await Sessions.authenticate(
            email: email, password: password, from: ClientAddress("192.0.2.1"), hasher: hasher, attempts: attempts,
            in: app.pool)
        }
      }
      let spellings = ["\u{dc}ber@example.org", "u\u{308}BER@Example.org", " U\u{308}ber@example.ORG "]
      _ = try await open("ann", spellings[0])
      #expect(
        try await app.pool.query("SELECT name, email FROM accounts").decode(String.self, String.self)
          .allSatisfy { $0.0 == "N" && Array($0.1.unicodeScalars) == Array("\u{fc}ber@example.org".unicodeScalars) })
      for email in spellings {
        #expect(try await code { _ = try await open("bob", email) } == .emailTaken)
        #expect(try await signIn(email, "long enough") == nil)
      }
      // Spellings of one address count as one; a different address is none of its spellings.
      _ = try await open("iii", "iiii@example.org")
      for number in 0..<AttemptLimit.signIn.limit {
        #expect(try await signIn(spellings[number % 3], "a guess") == .wrongCredentials)
      }
      for email in spellings { #expect(try await signIn(email, "long enough") == .tooManyAttempts) }
      #expect(try await signIn("\u{130}iii@example.org", "long enough") == .wrongCredentials)
      #expect(try await signIn("IIII@example.org", "long enough") == nil)
      _ = try await open("dotted", "\u{130}iii@example.org")
    }
  }

  @Test func addressesOfEarlierVersionsAreBroughtIntoTheForm() async throws {
    try await App.run { app in
      func insert(_ username: String, _ email: String) async throws {
        try await app.pool.execute("INSERT INTO accounts (username, email) VALUES (\(username), \(email))")
      }
      try await insert("a", "\u{c9}VA@example.org")
      try await insert("b", "\u{e9}va@example.org")
      try await insert("c", "\u{c4}@example.org")
      try await insert("d", "A\u{308}@example.org")
      try await insert("e", "Plain@example.org")
      // For ASCII the index itself folds the case.
      await #expect(throws: PostgresError.self) { try await insert("f", "PLAIN@example.org") }
      let before = try await EmailAddresses.collisions(in: app.pool)
      #expect(before.map(\.username) == ["a", "d"] && before.map(\.other) == ["b", "c"])
      try await app.client.enqueue(SessionSweep())
      try await app.drain()
      let emails = try await app.pool.query("SELECT email FROM accounts ORDER BY username").decode(String.self)
      let wanted = [
        "\u{c9}VA@example.org", "\u{e9}va@example.org", "\u{e4}@example.org", "A\u{308}@example.org",
        "Plain@example.org",
      ]
      #expect(emails.map { Array($0.unicodeScalars) } == wanted.map { Array($0.unicodeScalars) })
      #expect(try await EmailAddresses.collisions(in: app.pool).map(\.username) == ["a", "d"])
    }
  }
}
