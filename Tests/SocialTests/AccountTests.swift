import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct AccountTests {
  @Test(arguments: [
    ("", "a@b.c", "long enough", "Ann", "invalid_username"),
    ("-ann", "a@b.c", "long enough", "Ann", "invalid_username"),
    ("a b", "a@b.c", "long enough", "Ann", "invalid_username"),
    ("änn", "a@b.c", "long enough", "Ann", "invalid_username"),
    (String(repeating: "a", count: 101), "a@b.c", "long enough", "Ann", "invalid_username"),
    ("ann", "", "long enough", "Ann", "invalid_email"), ("ann", "a@b@c", "long enough", "Ann", "invalid_email"),
    ("ann", "a b@c", "long enough", "Ann", "invalid_email"), ("ann", "a\0@c", "long enough", "Ann", "invalid_email"),
    ("ann", "a@b.c", "short", "Ann", "invalid_password"), ("ann", "a@b.c", "long enough", "", "invalid_name"),
    ("ann", "a@b.c", "long enough", "A\0n", "invalid_name"),
    ("ann", "a@b.c", "long enough", String(repeating: "n", count: 101), "invalid_name"),
  ])
  func refusesWhatFieldsCannotHold(username: String, email: String, password: String, name: String, code: String) {
    let error = #expect(throws: SocialError.self) {
      try Registration(username: username, email: email, password: password, name: name)
    }
    #expect(error?.code.rawValue == code)
    #expect(error?.field.map { "invalid_" + $0 } == code)
    #expect(error?.message.isEmpty == false)
  }

  @Test func opensAnAccountOnce() async throws {
    try await App.run { app in
      let ann = try Registration(
        username: "Ann", email: "Ann@Example.org", password: "long enough", name: "Ann", major: "Music", bio: "Hello")
      let id = try await app.pool.transaction { try await Accounts.open(ann, passwordHash: "x", in: $0).id }
      #expect(try await Accounts.id(of: "aNN", in: app.pool) == id)
      let sameName = try Registration(username: "ANN", email: "b@c.d", password: "long enough", name: "B")
      let sameEmail = try Registration(username: "Bob", email: "ann@example.ORG", password: "long enough", name: "B")
      for (registration, expected) in [(sameName, SocialError.Code.usernameTaken), (sameEmail, .emailTaken)] {
        let found = try await code {
          _ = try await app.pool.transaction { try await Accounts.open(registration, passwordHash: "x", in: $0).id }
        }
        #expect(found == expected)
      }
      let own = try await Accounts.own(id, in: app.pool)
      #expect(own.email == "ann@example.org")
      #expect(own.profile.major == "Music" && own.profile.bio == "Hello" && own.profile.avatar == nil)
      for name in ["nobody", "", "no body", "a\0", "%"] {
        #expect(try await code { _ = try await Accounts.id(of: name, in: app.pool) } == .notFound)
        #expect(try await code { _ = try await Accounts.profile(of: name, seenBy: id, in: app.pool) } == .notFound)
      }
    }
  }

  @Test func changesOnlyWhatIsGiven() async throws {
    try await App.run { app in
      let id = try await app.account("ann")
      func change(_ changes: AccountChanges) async throws -> Profile {
        try await app.pool.transaction { try await Accounts.change(id, changes, in: $0) }
        return try await Accounts.own(id, in: app.pool).profile
      }
      // An account from before pictures were stored here.
      try await app.pool.execute("UPDATE accounts SET avatar = 'https://example.org/a.png'")
      let first = try await change(AccountChanges(name: "Ann B", bio: "Hi"))
      #expect(first.name == "Ann B" && first.bio == "Hi" && first.avatar == "https://example.org/a.png")
      let second = try await change(AccountChanges(major: "Art"))
      #expect(second.name == "Ann B" && second.major == "Art" && second.avatar != nil)
      #expect(try await change(AccountChanges(avatar: .some(nil))).avatar == nil)
      #expect(
        try await code {
          let changes = try AccountChanges(name: "x")
          try await app.pool.transaction { try await Accounts.change(-1, changes, in: $0) }
        } == .notFound)
      #expect(throws: SocialError.self) { try AccountChanges(name: "") }
      #expect(throws: SocialError.self) { try AccountChanges(avatar: .some("")) }
    }
  }

  @Test func countsOnAProfile() async throws {
    try await App.run { app in
      let ids = try await app.accounts(4)
      try await app.follow(ids[0], by: ids[1])
      try await app.follow(ids[0], by: ids[2])
      try await app.follow(ids[3], by: ids[0])
      try await app.post(by: ids[0])
      let seen = try await Accounts.profile(of: "account1", seenBy: ids[1], in: app.pool)
      #expect(seen.posts == 1 && seen.followers == 2 && seen.following == 1 && seen.isFollowed)
      #expect(try await !Accounts.profile(of: "account1", seenBy: ids[3], in: app.pool).isFollowed)
      #expect(try await !Accounts.profile(of: "account1", seenBy: 0, in: app.pool).isFollowed)
    }
  }
}
