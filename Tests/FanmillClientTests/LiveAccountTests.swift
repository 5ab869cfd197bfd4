import Foundation
import Testing

@testable import FanmillClient

/// Accounts, sessions and mailed tokens, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LiveAccountTests {
  @Test func accountsAndSessions() async throws {
    let (ann, name) = try await LiveStack.account("ann")
    let taken = await #expect(throws: FanmillError.self) {
      _ = try await LiveStack.client().accounts.open(
        Registration(username: name, email: "other-\(name)@example.org", password: LiveStack.password, name: "A"))
    }
    #expect(taken?.code == .usernameTaken && taken?.status == 409 && taken?.requestID?.count == 32)
    let other = try await LiveStack.client().signIn(email: "\(name)@example.org", password: LiveStack.password)
    let sessions = try await ann.sessions.list()
    #expect(sessions.count == 2 && sessions.filter(\.isCurrent).count == 1)
    #expect(sessions.allSatisfy { $0.client == "FanmillClientTests" })
    try await ann.sessions.closeOthers()
    let ended = await #expect(throws: FanmillError.self) { _ = try await other.me.profile() }
    #expect(ended?.code == .notSignedIn)
    let third = try await LiveStack.client().signIn(email: "\(name)@example.org", password: LiveStack.password)
    let id = try #require(try await ann.sessions.list().first { !$0.isCurrent }?.id)
    try await ann.sessions.close(id)
    try await third.sessions.closeCurrent()
    let wrong = await #expect(throws: FanmillError.self) {
      _ = try await LiveStack.client().signIn(email: "\(name)@example.org", password: "not this one")
    }
    #expect(wrong?.code == .wrongCredentials)
    let out = try await ann.signOut()
    #expect(out.session == nil)
    try await ann.signOut()
  }

  @Test func theOwnProfile() async throws {
    let (ann, name) = try await LiveStack.account("ann")
    let profile = try await ann.me.profile()
    #expect(profile.username == name && profile.email == "\(name)@example.org" && !profile.adult)
    let upload = try await ann.media.upload(TestPicture.png(width: 40, height: 30, seed: 11))
    let changed = try await ann.me.change(
      ProfileChanges(name: "Ann 김", bio: "Draws", avatar: .set(upload.id), adult: true))
    #expect(changed.name == "Ann 김" && changed.bio == "Draws" && changed.adult && changed.avatar != nil)
    #expect(try await ann.me.change(ProfileChanges(avatar: .remove)).avatar == nil)
    try await ann.me.changePassword(from: LiveStack.password, to: "another password")
    let wrong = await #expect(throws: FanmillError.self) { try await ann.me.delete(password: LiveStack.password) }
    #expect(wrong?.code == .wrongPassword)
    #expect(try await ann.me.notices().page().items.isEmpty)
    #expect(try await ann.me.delete(password: "another password") == .done)
    await #expect(throws: FanmillError.self) { _ = try await ann.me.profile() }
  }

  @Test func aRenamedAccountIsFound() async throws {
    let (ann, old) = try await LiveStack.account("old")
    let (bob, _) = try await LiveStack.account("bob")
    let new = LiveStack.name("new")
    try await ann.me.change(ProfileChanges(username: new))
    #expect(try await bob.users.profile(old).username == new)
    try await bob.users.follow(old)
    #expect(try await bob.users.profile(new).isFollowed)
    try await bob.users.unfollow(old)
    #expect(try await bob.users.followers(of: old).page().items.isEmpty)
  }

  @Test(.enabled(if: LiveStack.mail != nil)) func mailedTokens() async throws {
    let (ann, name) = try await LiveStack.account("mail")
    let client = try LiveStack.client()
    try await client.accounts.requestPasswordReset(email: "\(name)@example.org")
    try await client.accounts.resetPassword(
      token: try await LiveStack.token(mailedTo: "\(name)@example.org"), to: "a new password")
    await #expect(throws: FanmillError.self) { _ = try await ann.me.profile() }
    let again = try await client.signIn(email: "\(name)@example.org", password: "a new password")
    try await again.me.changeEmail(to: "new-\(name)@example.com", password: "a new password")
    try await client.accounts.confirmEmail(token: try await LiveStack.token(mailedTo: "new-\(name)@example.com"))
    #expect(try await again.me.profile().email == "new-\(name)@example.com")
    try await client.accounts.requestEmailConfirmation(email: "nobody-\(name)@example.org")
    let expired = await #expect(throws: FanmillError.self) {
      try await client.accounts.confirmDeletion(token: String(repeating: "A", count: 43))
    }
    #expect(expired?.code == .confirmationExpired)
  }

  @Test(.enabled(if: LiveStack.mail != nil)) func exports() async throws {
    let (ann, name) = try await LiveStack.account("export")
    try await ann.me.requestExport()
    let token = try await LiveStack.token(mailedTo: "\(name)@example.org")
    let file = try await LiveStack.client().accounts.export(token: token)
    // A zip archive.
    #expect(file.starts(with: [0x50, 0x4B, 3, 4]))
  }
}
