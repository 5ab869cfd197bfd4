import Foundation
import Social

/// A celeb among one's own.
struct CelebView: Encodable, Sendable {
  let platform: String
  let account: String
  let title: String
  let url: String
  let since: Date
  let count: Int
  let recent: Nullable<Date>

  init(_ celeb: FanCeleb) {
    platform = celeb.platform.rawValue
    account = celeb.account
    title = celeb.title
    url = celeb.url
    since = celeb.since
    count = celeb.count
    recent = Nullable(celeb.recent)
  }
}

/// A celeb in a ranking.
struct RankedCelebView: Encodable, Sendable {
  let rank: Int
  let previousRank: Nullable<Int>
  let change: Nullable<Int>
  let account: String
  let title: Nullable<String>
  let hearts: Int
  let followers: Int

  init(_ celeb: RankedCeleb) {
    rank = celeb.rank
    previousRank = Nullable(celeb.previousRank)
    change = Nullable(celeb.change)
    account = celeb.account
    title = Nullable(celeb.title)
    hearts = celeb.hearts
    followers = celeb.followers
  }
}

/// What a certificate says.
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
