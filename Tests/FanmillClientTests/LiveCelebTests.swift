import Foundation
import Testing

@testable import FanmillClient

/// Channels, celebs, hearts, rankings, certificates and purchases, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LiveCelebTests {
  @Test func channelsCelebsHeartsRankingsCertificates() async throws {
    let (ann, annName) = try await LiveStack.account("ann")
    let words = "painter " + LiveStack.name("x").suffix(6)
    let channel = try #require(try await ann.channels.find(words).first)
    #expect(channel.id.hasPrefix("UC") && channel.platform == .youtube)
    guard case .found(let stored, _) = try await ann.channels.search(words) else {
      Issue.record("a stored answer is not used")
      return
    }
    #expect(stored.contains { $0.id == channel.id })
    let celeb = CelebAccount(.youtube, channel.account)
    #expect(try await ann.celebs.register(celeb).count == 0)
    #expect(try await ann.celebs.register(celeb).celebAccount == celeb)
    let other = CelebAccount(.instagram, "art." + String(annName.suffix(6)).replacing("-", with: "_"))
    #expect(try await ann.celebs.register(other).state == .unchecked)
    let edited = try await ann.celebs.edit(other, note: "Since school", position: 1)
    #expect(edited.note == "Since school" && edited.position == 1)
    #expect(try await ann.celebs.list().map(\.celebAccount) == [other, celeb])
    let heart = try await ann.hearts.give(celeb)
    #expect(heart.count == 1 && heart.nextAt > Date.now)
    let soon = await #expect(throws: FanmillError.self) { try await ann.hearts.give(celeb) }
    #expect(soon?.code == .heartTooSoon && (soon?.retryAfter ?? .zero) > .seconds(500))
    let profile = try await LiveStack.eventually("the counts") {
      let profile = try await ann.celebs.profile(celeb)
      return profile.hearts == 1 && profile.followers == 1 ? profile : nil
    }
    #expect(profile.isMine && profile.count == 1 && profile.nextAt != nil)
    #expect(profile.ranks.hearts.day == nil || (profile.ranks.hearts.day ?? 0) > 0)
    _ = try await ann.rankings.page(on: .youtube, window: .day)
    for try await ranked in ann.rankings.celebs(on: .instagram, by: .followers, limit: 1).prefix(3) {
      #expect(ranked.rank > 0)
    }
    _ = try await ann.rankings.history(of: celeb, window: .week)
    let unknown = await #expect(throws: FanmillError.self) {
      _ = try await ann.rankings.page(on: Platform(rawValue: "myspace"))
    }
    #expect(unknown?.code == .unknownPlatform)

    let issued = try await ann.certificates.issue(for: celeb)
    #expect(issued.certificate.username == annName && issued.certificate.rank == 1 && issued.certificate.fans == 1)
    #expect(try await LiveStack.client().certificates.check(issued.token) == issued.certificate)
    let svg = try await LiveStack.client().certificates.card(.svg, of: issued.token)
    #expect(String(decoding: svg.prefix(200), as: UTF8.self).contains("<svg"))
    let png = try await LiveStack.client().certificates.card(.png, of: issued.token)
    #expect(png.prefix(4) == Data([0x89, 0x50, 0x4E, 0x47]))
    #expect(try await LiveStack.client().certificates.keys().allSatisfy { $0.bytes.count == 32 })
    let forged = await #expect(throws: FanmillError.self) {
      _ = try await LiveStack.client().certificates.check(String(issued.token.dropLast(8)) + "AAAAAAAA")
    }
    #expect(forged != nil)

    let third = CelebAccount(.instagram, other.account + "x")
    #expect(try await ann.celebs.replace(celeb, by: third).count == 0)
    let revoked = await #expect(throws: FanmillError.self) { _ = try await ann.certificates.check(issued.token) }
    #expect(revoked?.code == .certificateRevoked)
    try await ann.celebs.remove(third)
    try await ann.celebs.remove(third)
    let purchases = try await ann.purchases.list()
    #expect(purchases.items.isEmpty && purchases.celebs == 3)
    await #expect(throws: FanmillError.self) { try await ann.purchases.deliver(notice: "a.b.c") }
    await #expect(throws: FanmillError.self) { try await ann.purchases.deliver(signedPayload: "a.b.c") }
  }
}
