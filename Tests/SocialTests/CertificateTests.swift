import Foundation
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct CertificateTests {
  private let key = CertificateKey("a key of thirty-two characters, or more")
  private let noon = Date(timeIntervalSince1970: 1_790_000_000)

  private var sample: FanCertificate {
    FanCertificate(
      platform: .instagram, account: "an.artist", username: "fan", since: noon, hearts: 3, rank: 1, fans: 2,
      issuedAt: noon)
  }

  private func verdict(of token: String, _ key: CertificateKey) -> SocialError.Code? {
    do throws(SocialError) {
      _ = try key.certificate(token)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func aTokenSaysWhatWasSigned() throws {
    let token = try key.token(for: sample)
    #expect(try key.certificate(token) == sample)
    #expect(token.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "=") })
    #expect(verdict(of: token, CertificateKey("another key of thirty-two characters")) == .forgedCertificate)
  }

  /// Issued by earlier versions, whose signatures came from another library.
  @Test func certificatesSignedByEarlierVersionsAreValid() throws {
    let signed =
      "eyJhIjoiYW4uYXJ0aXN0IiwiZiI6MiwiaCI6MywiaSI6MTc5MDAwMDAwMCwicCI6Imluc3RhZ3JhbSIsInIiOjEsInMiOjE3OTAwMDAwMDAsInUi"
      + "OiJmYW4ifQ.Vh5HRQkV6wNGiyJ403goIBpBCjq5ZAXt7MDK7-56D5g"
    #expect(try key.certificate(signed) == sample)
    #expect(try key.token(for: sample) == signed)
  }

  @Test func everyChangedCharacterIsFound() throws {
    let token = Array(try key.token(for: sample))
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=")
    for index in token.indices {
      for character in [alphabet[index % alphabet.count], "A", "."] where character != token[index] {
        var changed = token
        changed[index] = character
        let found = verdict(of: String(changed), key)
        #expect(found == .forgedCertificate || found == .malformedCertificate, "\(index)")
      }
    }
    let text = String(token)
    for cut in [0, 1, 10, text.count - 44, text.count - 43, text.count - 1] {
      #expect(verdict(of: String(text.prefix(cut)), key) == .malformedCertificate, "\(cut)")
    }
    for other in ["", ".", "..", "a.b", text + "=", text + ".", text + text, String(repeating: "A", count: 5000)] {
      #expect(verdict(of: other, key) == .malformedCertificate)
    }
  }

  @Test func theRankIsAmongTheCelebsFans() async throws {
    try await App.run { app in
      let fans = try await app.accounts(4)
      let channel = try CelebAccount.channel(1)
      for fan in fans { try await app.register(channel, by: fan, now: noon) }
      for (fan, minutes) in [(fans[2], 1.0), (fans[0], 2.0), (fans[2], 20.0), (fans[3], 1.0)] {
        try await app.heart(channel, by: fan, now: noon + minutes * 60)
      }
      var ranks: [Int] = []
      for fan in fans {
        let certificate = try await FanCertificate.issue(for: channel, of: fan, in: app.pool, now: noon + 3600.7)
        #expect(certificate.fans == 4 && certificate.since == noon && certificate.issuedAt == noon + 3600)
        ranks.append(certificate.rank)
      }
      #expect(ranks == [3, 4, 1, 2])
      try await app.remove(channel, by: fans[2])
      #expect(try await FanCertificate.issue(for: channel, of: fans[3], in: app.pool).rank == 1)
      #expect(
        try await code { _ = try await FanCertificate.issue(for: channel, of: fans[2], in: app.pool) }
          == .celebNotRegistered)
    }
  }
}
