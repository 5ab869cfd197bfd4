import Foundation
import Testing

@testable import FanmillClient

/// Follows, blocks, mutes and reports, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LiveRelationTests {
  @Test func followsBlocksMutesReports() async throws {
    let (ann, annName) = try await LiveStack.account("ann")
    let (bob, bobName) = try await LiveStack.account("bob")
    try await ann.users.follow(bobName)
    try await ann.users.follow(bobName)
    #expect(try await ann.users.profile(bobName).isFollowed)
    #expect(try await bob.users.followers(of: bobName).page().items.map(\.username) == [annName])
    #expect(try await bob.users.following(annName).page().items.map(\.username) == [bobName])
    let oneself = await #expect(throws: FanmillError.self) { try await ann.users.follow(annName) }
    #expect(oneself?.code == .cannotFollowYourself)
    let found = try await LiveStack.eventually("the account in a search") {
      try await ann.users.search(bobName).page().items.first
    }
    #expect(found.username == bobName && found.isFollowed)
    let report = try await ann.reports.create(.user(bobName), reason: .spam, text: "Again and again")
    #expect(try await ann.reports.create(.user(bobName), reason: .spam) == report)
    try await ann.users.mute(bobName)
    #expect(try await ann.users.profile(bobName).isMuted)
    #expect(try await ann.me.mutes().page().items.map(\.username) == [bobName])
    try await ann.users.unmute(bobName)
    try await ann.users.block(bobName)
    #expect(try await ann.me.blocks().page().items.map(\.username) == [bobName])
    let hidden = await #expect(throws: FanmillError.self) { _ = try await bob.users.profile(annName) }
    #expect(hidden?.code == .notFound)
    try await ann.users.unblock(bobName)
    #expect(try await bob.users.profile(annName).followers == 0)
  }
}
