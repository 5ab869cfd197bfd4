import Foundation

/// What a ranking counts.
public struct RankingMeasure: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let hearts = RankingMeasure(rawValue: "hearts")
  public static let followers = RankingMeasure(rawValue: "followers")
}

/// The calendar period that a ranking counts, up to now, in the server's time zone for rankings.
public struct RankingWindow: OpenValue {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public static let day = RankingWindow(rawValue: "day")
  public static let week = RankingWindow(rawValue: "week")
  public static let month = RankingWindow(rawValue: "month")
  public static let all = RankingWindow(rawValue: "all")
}

/// A celeb in a ranking.
public struct RankedCeleb: Sendable, Hashable, Codable {
  /// 1 for the first.
  public var rank: Int
  /// The rank in the snapshot before; nil if it was not listed there.
  public var previousRank: Int?
  /// How many ranks it has risen; negative if it fell.
  public var change: Int?
  public var account: String
  public var title: String?
  /// The URL of a picture.
  public var thumbnail: String?
  /// In the window.
  public var hearts: Int
  /// Fans that registered it in the window and still have it.
  public var followers: Int

  public init(
    rank: Int, previousRank: Int? = nil, change: Int? = nil, account: String, title: String? = nil,
    thumbnail: String? = nil, hearts: Int, followers: Int
  ) {
    self.rank = rank
    self.previousRank = previousRank
    self.change = change
    self.account = account
    self.title = title
    self.thumbnail = thumbnail
    self.hearts = hearts
    self.followers = followers
  }
}

/// A page of a ranking.
public struct RankingPage: Sendable, Hashable, Codable {
  public var items: [RankedCeleb]
  /// Where the next page of the same snapshot begins; nil at the end.
  public var next: PageCursor?
  /// When the snapshot was made; nil before the first.
  public var computedAt: Date?

  public init(items: [RankedCeleb], next: PageCursor? = nil, computedAt: Date? = nil) {
    self.items = items
    self.next = next
    self.computedAt = computedAt
  }
}

/// A day on which a celeb was listed.
public struct RankPoint: Sendable, Hashable, Codable {
  /// `2026-11-27`, in the server's time zone for rankings.
  public var day: String
  public var rank: Int
  /// What the ranking counts.
  public var count: Int

  public init(day: String, rank: Int, count: Int) {
    self.day = day
    self.rank = rank
    self.count = count
  }
}

extension FanmillClient {
  public var rankings: Rankings { Rankings(sender: sender) }

  /// `rankings` and `celebs/PLATFORM/ACCOUNT/history`. Snapshots are made every ten minutes.
  public struct Rankings: Sendable {
    let sender: RequestSender

    /// A ranking, from its first on. All pages are of one snapshot.
    public func celebs(
      on platform: Platform, by measure: RankingMeasure = .hearts, window: RankingWindow = .all, limit: Int? = nil
    ) -> Pages<RankedCeleb> {
      sender.pages(request(platform, measure, window), limit: limit)
    }

    /// A page of a ranking, with the time of its snapshot.
    ///
    /// - Parameter cursor: the `next` of an earlier page; nil for the first.
    /// - Throws: `unknown_platform`, `invalid_by`, `invalid_window`, `invalid_before`.
    public func page(
      on platform: Platform, by measure: RankingMeasure = .hearts, window: RankingWindow = .all,
      after cursor: PageCursor? = nil, limit: Int? = nil
    ) async throws -> RankingPage {
      try await sender.value(
        Pages<RankedCeleb>.request(request(platform, measure, window), after: cursor, limit: limit))
    }

    private func request(_ platform: Platform, _ measure: RankingMeasure, _ window: RankingWindow) -> APIRequest {
      APIRequest(
        .get, ["rankings", platform.rawValue], query: [("by", measure.rawValue), ("window", window.rawValue)])
    }

    /// A celeb's rank by day, the latest day first. Days on which it was not listed are missing.
    public func history(
      of celeb: CelebAccount, by measure: RankingMeasure = .hearts, window: RankingWindow = .all
    ) async throws -> [RankPoint] {
      try await sender.items(
        APIRequest(
          .get, ["celebs"] + celeb.path + ["history"],
          query: [("by", measure.rawValue), ("window", window.rawValue)]))
    }
  }
}
