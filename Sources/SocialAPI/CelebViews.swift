import DurableJobs
import Foundation
import Social

/// A celeb on the viewer's own list.
struct CelebView: Encodable, Sendable {
  let platform: String
  let account: String
  let title: String
  let thumbnail: Nullable<String>
  let url: String
  let state: String
  let since: Date
  let count: Int
  let recent: Nullable<Date>
  /// When the next heart is possible; null if it is now.
  let nextAt: Nullable<Date>
  let note: Nullable<String>
  let position: Int

  init(_ celeb: FanCeleb) {
    platform = celeb.platform.rawValue
    account = celeb.account
    title = celeb.title
    thumbnail = Nullable(celeb.thumbnail)
    url = celeb.url
    state = celeb.state.rawValue
    since = celeb.since
    count = celeb.count
    recent = Nullable(celeb.recent)
    nextAt = Nullable(celeb.nextAt(now: JobClock.now))
    note = Nullable(celeb.note)
    position = celeb.position
  }
}

/// A celeb's profile.
struct CelebProfileView: Encodable, Sendable {
  /// Places in the rankings of a measure; null where the celeb is not listed.
  struct Ranks: Encodable, Sendable {
    let day: Nullable<Int>
    let week: Nullable<Int>
    let month: Nullable<Int>
    let all: Nullable<Int>
  }

  struct AllRanks: Encodable, Sendable {
    let hearts: Ranks
    let followers: Ranks
  }

  let platform: String
  let account: String
  let title: String
  let thumbnail: Nullable<String>
  let url: String
  let state: String
  let followers: Int
  let hearts: Int
  let ranks: AllRanks
  let isMine: Bool
  let since: Nullable<Date>
  let count: Nullable<Int>
  /// Null if a heart is possible now, or if the celeb is not on the viewer's list.
  let nextAt: Nullable<Date>

  init(_ celeb: CelebProfile) {
    platform = celeb.account.platform.rawValue
    account = celeb.account.name
    title = celeb.title
    thumbnail = Nullable(celeb.thumbnail)
    url = celeb.account.url
    state = celeb.state.rawValue
    followers = celeb.followers
    hearts = celeb.hearts
    func ranks(by measure: RankingKey.Measure) -> Ranks {
      func rank(_ window: RankingKey.Window) -> Nullable<Int> {
        Nullable(celeb.ranks[RankingKey(celeb.account.platform, by: measure, window)])
      }
      return Ranks(day: rank(.day), week: rank(.week), month: rank(.month), all: rank(.all))
    }
    self.ranks = AllRanks(hearts: ranks(by: .hearts), followers: ranks(by: .followers))
    isMine = celeb.own != nil
    since = Nullable(celeb.own?.since)
    count = Nullable(celeb.own?.count)
    nextAt = Nullable(celeb.own?.nextAt)
  }
}

/// A day on which the celeb was listed.
struct RankPointView: Encodable, Sendable {
  let day: String
  let rank: Int
  let count: Int

  init(_ point: RankPoint) {
    day = point.day
    rank = point.rank
    count = point.count
  }
}

/// A celeb in a ranking.
struct RankedCelebView: Encodable, Sendable {
  let rank: Int
  let previousRank: Nullable<Int>
  let change: Nullable<Int>
  let account: String
  let title: Nullable<String>
  let thumbnail: Nullable<String>
  let hearts: Int
  let followers: Int

  init(_ celeb: RankedCeleb) {
    rank = celeb.rank
    previousRank = Nullable(celeb.previousRank)
    change = Nullable(celeb.change)
    account = celeb.account
    title = Nullable(celeb.title)
    thumbnail = Nullable(celeb.thumbnail)
    hearts = celeb.hearts
    followers = celeb.followers
  }
}

/// The contents of a certificate.
struct CertificateView: Encodable, Sendable {
  let platform: String
  let account: String
  let username: String
  let since: Date
  let hearts: Int
  let rank: Int
  let fans: Int
  let issuedAt: Date

  init(_ certificate: FanCertificate) {
    platform = certificate.platform.rawValue
    account = certificate.account
    username = certificate.username
    since = certificate.since
    hearts = certificate.hearts
    rank = certificate.rank
    fans = certificate.fans
    issuedAt = certificate.issuedAt
  }
}
