import Foundation

@testable import FanmillClient
@testable import SocialAPI

extension ClientCall {
  private struct Channels: Encodable, Sendable {
    let items: [Channel]
    let more: Bool
  }

  static let celebs: [ClientCall] = [
    .returning(.readCeleb) { try await $0.celebs.profile(Sample.celeb) },
    .returning(.listCelebs) { ["items": try await $0.celebs.list()] },
    .returning(.registerCeleb) { try await $0.celebs.register(Sample.celeb) },
    .returning(.editCeleb) { try await $0.celebs.edit(Sample.celeb, note: "since school", position: 1) },
    .sending(.removeCeleb) { try await $0.celebs.remove(Sample.celeb) },
    .returning(.replaceCeleb) {
      try await $0.celebs.replace(Sample.celeb, by: CelebAccount(.instagram, "another.artist"))
    },
    .returning(.giveHeart) { try await $0.hearts.give(Sample.celeb) },
    .returning(.searchChannels) { client in
      switch try await client.channels.search("an artist", more: true) {
      case .found(let channels, let hasMore): return Channels(items: channels, more: hasMore)
      case .started(let lookup): return ["lookup": lookup]
      }
    },
    .returning(.readLookup) { try await $0.channels.lookup(Sample.lookup) },
    .returning(.readRanking) {
      try await $0.rankings.page(on: .instagram, by: .followers, window: .week, after: Sample.cursor, limit: 5)
    },
    .sending(.readRanking) { _ = try await $0.rankings.celebs(on: .youtube, limit: 5).page(after: Sample.cursor) },
    .returning(.readHistory) {
      ["items": try await $0.rankings.history(of: Sample.celeb, by: .hearts, window: .day)]
    },
  ]

  static let certificates: [ClientCall] = [
    .returning(.issueCertificate) { try await $0.certificates.issue(for: Sample.celeb) },
    .returning(.checkCertificate) { ["certificate": try await $0.certificates.check(Sample.certificate)] },
    .sending(.showSVGCard) { _ = try await $0.certificates.card(.svg, of: Sample.certificate) },
    .sending(.showPNGCard) { _ = try await $0.certificates.card(.png, of: Sample.certificate) },
    .returning(.listKeys) { ["keys": try await $0.certificates.keys()] },
    .returning(.takePurchaseNotice) { ["outcome": try await $0.purchases.deliver(notice: "a.b.c")] },
    .returning(.takePurchaseNotice) { ["outcome": try await $0.purchases.deliver(signedPayload: "a.b.c")] },
    .returning(.listPurchases) { try await $0.purchases.list() },
  ]
}
