import Foundation
import LibPQClient

/// Identifies a ranking.
public struct RankingKey: Sendable, Hashable {
  /// The number that a ranking counts.
  public enum Measure: String, Sendable, Hashable, CaseIterable {
    case hearts
    case followers
  }

  /// The calendar period that is counted, up to now.
  public enum Window: String, Sendable, Hashable, CaseIterable {
    case day
    case week
    case month
    case all
  }

  public let platform: CelebPlatform
  public let measure: Measure
  public let window: Window

  public init(_ platform: CelebPlatform, by measure: Measure = .hearts, _ window: Window = .all) {
    self.platform = platform
    self.measure = measure
    self.window = window
  }

  /// - Parameters:
  ///   - by: nil means `hearts`.
  ///   - window: nil means `all`.
  /// - Throws: `unknown_platform`, `invalid_by`, `invalid_window`.
  public init(platform: String, by: String?, window: String?) throws(SocialError) {
    self.platform = try CelebPlatform(named: platform)
    guard let measure = Measure(rawValue: by ?? "hearts") else { throw .invalid("by", "must be hearts or followers") }
    guard let window = Window(rawValue: window ?? "all") else {
      throw .invalid("window", "must be day, week, month or all")
    }
    self.measure = measure
    self.window = window
  }
}

/// A celeb's entry in a ranking.
public struct RankedCeleb: Sendable, Hashable {
  /// 1 for the first.
  public let rank: Int
  /// The rank in the previous snapshot; nil if it was not listed there.
  public let previousRank: Int?
  public let account: String
  public let title: String?
  /// The address of a picture; nil if the platform has not provided one.
  public let thumbnail: String?
  /// Hearts given in the window.
  public let hearts: Int
  /// Fans who registered in the window and are still fans.
  public let followers: Int

  /// How many ranks it has risen; negative if it fell, nil if it was not listed before.
  public var change: Int? { previousRank.map { $0 - rank } }
}

/// A page of a ranking.
public struct RankingPage: Sendable, Hashable {
  /// When the snapshot was computed; nil before the first.
  public var computedAt: Date?
  public var items: [RankedCeleb]
  /// The cursor of the next page; nil at the end.
  public var next: Int?
}
