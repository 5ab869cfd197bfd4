import FanmillClient
import Foundation

/// Fan certification: a fan registers celebs, gives hearts, and proves it.
enum FansApp {
  static func walk(_ walk: Walk) async throws {
    walk.screen("Sign up")
    let minji = try await walk.signUp("minji", "김민지")
    walk.show("Welcome, \(minji.name) (@\(minji.username))")

    let celeb = try await search(walk, minji)
    try await list(walk, minji, celeb)
    try await hearts(walk, minji, celeb)
    try await rankings(walk, minji, celeb)
    try await certificate(walk, minji, celeb)
  }

  private static func search(_ walk: Walk, _ fan: Person) async throws -> CelebAccount {
    let words = "painter \(walk.suffix)"
    walk.screen("Find a celeb: \(words)")
    let channels = try await fan.client.channels.find(words)
    for channel in channels.prefix(3) {
      walk.show("\(channel.title)  \(channel.handle ?? "")  \(channel.subscribers.map { "\($0) subscribers" } ?? "")")
    }
    guard let channel = channels.first else { throw Walk.Late(description: "no channel was found") }
    walk.expect("channel ids", channels.allSatisfy { $0.id.hasPrefix("UC") && $0.account == $0.id })
    let again = try await fan.client.channels.search(words)
    if case .found(let stored, let hasMore) = again {
      walk.expect("the stored answer", stored.map(\.id).contains(channel.id))
      if hasMore { walk.show("Search YouTube for more ›") }
    } else {
      walk.differs("the second search is not answered from what is stored")
    }
    return CelebAccount(.youtube, channel.account)
  }

  private static func list(_ walk: Walk, _ fan: Person, _ celeb: CelebAccount) async throws {
    walk.screen("My celebs")
    let celebs = fan.client.celebs
    let actor = CelebAccount(.instagram, "actor.\(walk.suffix)")
    let singer = CelebAccount(.instagram, "singer.\(walk.suffix)")
    for account in [celeb, actor, singer] { try await celebs.register(account) }
    let verified = try await walk.eventually("YouTube's answer") {
      let profile = try await celebs.profile(celeb)
      return profile.state == .verified ? profile : nil
    }
    try await celebs.edit(singer, note: "Since the first album", position: 1)
    let list = try await celebs.list()
    for celeb in list {
      walk.show("\(celeb.position). \(celeb.title)  ♥ \(celeb.count)" + (celeb.note.map { "  — \($0)" } ?? ""))
    }
    walk.expect("the order", list.map(\.celebAccount), [singer, celeb, actor])
    walk.expect("the states", list.map(\.state), [.unchecked, .verified, .unchecked])
    walk.expect("the title", list[1].title, verified.title)
    walk.expect("the note", list[0].note, "Since the first album")
    let places = try await fan.client.purchases.list().celebs
    walk.show("\(list.count) of \(places) places")
    walk.expect("places", places, 3)
    await walk.expectRefusal(.celebLimit) {
      try await celebs.register(CelebAccount(.instagram, "fourth.\(walk.suffix)"))
    }
  }

  private static func hearts(_ walk: Walk, _ fan: Person, _ celeb: CelebAccount) async throws {
    walk.screen("Celeb")
    let before = try await fan.client.celebs.profile(celeb)
    walk.show("\(before.title)  Fans \(before.followers)  ♥ \(before.hearts)", "[ ♥ Give a heart ]")
    walk.expect("the button", before.isMine && before.nextAt == nil)
    let heart = try await fan.client.hearts.give(celeb)
    walk.expect("the fan's hearts", heart.count, 1)
    let after = try await walk.eventually("the counts") {
      let profile = try await fan.client.celebs.profile(celeb)
      return profile.hearts == before.hearts + 1 ? profile : nil
    }
    let wait = heart.nextAt.timeIntervalSinceNow / 60
    walk.show("♥ \(after.hearts), \(after.count ?? 0) from you. Next heart in \(Int(wait.rounded())) minutes")
    walk.expect("the wait of ten minutes", (9...10.1).contains(wait))
    walk.expect("the countdown", after.nextAt, heart.nextAt)
    await walk.expectRefusal(.heartTooSoon) { try await fan.client.hearts.give(celeb) }
  }

  private static func rankings(_ walk: Walk, _ fan: Person, _ celeb: CelebAccount) async throws {
    walk.screen("Ranking of the day")
    let page = try await fan.client.rankings.page(on: .youtube, by: .hearts, window: .day, limit: 10)
    walk.show(page.computedAt.map { "As of \($0.formatted(.iso8601))" } ?? "The first ranking comes within ten minutes")
    for celeb in page.items {
      let change = celeb.change.map { $0 == 0 ? "=" : $0 > 0 ? "▲\($0)" : "▼\(-$0)" } ?? "new"
      walk.show("\(celeb.rank). \(celeb.title ?? celeb.account)  ♥ \(celeb.hearts)  \(change)")
    }
    walk.expect("the ranks", page.items.map(\.rank), Array(page.items.indices.map { $0 + 1 }))
    walk.expect("the order", page.items.map(\.hearts), page.items.map(\.hearts).sorted(by: >))
    walk.expect("a time for a list", page.items.isEmpty || page.computedAt != nil)
    for point in try await fan.client.rankings.history(of: celeb) { walk.show("\(point.day): \(point.rank)") }
  }

  private static func certificate(_ walk: Walk, _ fan: Person, _ celeb: CelebAccount) async throws {
    walk.screen("Certificate")
    let issued = try await fan.client.certificates.issue(for: celeb)
    let certificate = issued.certificate
    walk.show(
      "@\(certificate.username) is a fan since \(certificate.since.formatted(.iso8601.year().month().day()))",
      "♥ \(certificate.hearts), fan \(certificate.rank) of \(certificate.fans)",
      "\(try fan.client.certificates.page(of: issued.token))".prefix(60) + "…")
    walk.expect("the hearts", certificate.hearts, 1)
    walk.expect("the rank", certificate.rank, 1)
    walk.expect("the fan", certificate.username, fan.username)
    let svg = try await fan.client.certificates.card(.svg, of: issued.token)
    let png = try await fan.client.certificates.card(.png, of: issued.token)
    walk.show("[ Share ]  card.svg \(svg.count) bytes, card.png \(png.count) bytes")
    walk.expect("the card", String(decoding: svg, as: UTF8.self).contains(fan.name))
    walk.expect("the picture of the card", png.starts(with: [0x89, 0x50, 0x4E, 0x47]))

    walk.screen("Somebody scans the code")
    let checked = try await walk.client.certificates.check(issued.token)
    walk.show("Genuine: @\(checked.username), ♥ \(checked.hearts)")
    walk.expect("what the stranger sees", checked, certificate)

    walk.screen("The fan leaves")
    try await fan.client.celebs.remove(celeb)
    walk.expect("the list", try await fan.client.celebs.list().count, 2)
    await walk.expectRefusal(.certificateRevoked) { _ = try await walk.client.certificates.check(issued.token) }
  }
}
