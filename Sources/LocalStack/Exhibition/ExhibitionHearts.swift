import Foundation

/// The channels that the students love, and the hearts that they give in two rounds, so that ranks change between them.
struct ExhibitionHearts: Sendable, Hashable {
  struct Fan: Sendable, Hashable {
    let account: Int
    let channel: Int
    /// 0 or 1; nil for a fan who gives none.
    let round: Int?
  }

  /// What is searched for; the stand-in for YouTube knows a channel of any name.
  let channels = [
    "Night Bus Radio", "Slow Printing", "한밤의 라디오", "Harbour Lights", "고양이와 물레", "Paper Kites", "Ink Weather",
    "여섯 시의 재즈", "Cedar Strings", "Studio Mustard", "달빛 분식", "Northern Glaze",
  ]
  private(set) var fans: [Fan] = []

  /// The most channels that an account may register by default.
  private static let limit = 3

  init(accounts: Int, seed: UInt64) {
    var numbers = SeededNumbers(seed: seed, stream: 6)
    for account in 0..<accounts {
      let count = account == ExhibitionPlan.visitor ? Self.limit : 1 + numbers.below(Self.limit)
      // The first channels have the most fans.
      let chosen = channels.indices.map { ($0, pow(numbers.unit(), pow(Double($0) + 1, 0.8))) }
        .sorted { $0.1 > $1.1 }.prefix(count).map(\.0)
      for channel in chosen {
        // Those further down catch up in the second round.
        let isLate = numbers.chance(10 + 6 * (channel % 6))
        fans.append(Fan(account: account, channel: channel, round: numbers.chance(12) ? nil : isLate ? 1 : 0))
      }
    }
  }
}
