/// The demo's actions and measurements.
public struct DemoReport: Codable, Sendable {
  /// The measurements of one author's posts.
  public struct Line: Codable, Sendable {
    public let author: String
    public let posts: Int
    /// The author's number of followers.
    public let followers: Int
    /// Rows added to feeds.
    public let rows: Int
    /// From the API's first response until the last follower had the last post.
    public let seconds: Double
    /// Jobs retried because their worker was killed.
    public let retries: Int

    public var rowsPerSecond: Double { Double(rows) / max(seconds, 0.001) }
  }

  /// The readers' reactions to a post, and the author's notifications.
  public struct Reactions: Codable, Sendable {
    public let author: String
    public let likes: Int
    public let comments: Int
    public let follows: Int
    /// The author's unread count at that time.
    public let unread: Int
    /// The total duration of the requests, sent one after another.
    public let secondsAsked: Double
    /// From the last request until the last notification was counted.
    public let secondsUntilNotified: Double
    /// The newest notification of each type, as an app could show it.
    public let items: [String]
    /// Likes that were taken back.
    public let takenBack: Int
    public let unreadAfter: Int
  }

  /// One line of a ranking.
  public struct Ranked: Codable, Sendable {
    public let rank: Int
    public let previousRank: Int?
    public let title: String
    public let hearts: Int
    public let fans: Int
  }

  /// The fans' lookups and hearts, and the resulting rankings.
  public struct Fans: Codable, Sendable {
    /// The number of askers.
    public let questions: Int
    /// The number of lookups: equal questions share one.
    public let lookups: Int
    public let secondsToFind: Double
    public let hearts: Int
    public let first: [Ranked]
    /// After more hearts.
    public let second: [Ranked]
    /// The size of a certificate's card in bytes; nil if none could be rendered.
    public let card: Int?
  }

  /// The uploads and their renditions.
  public struct Pictures: Codable, Sendable {
    public let count: Int
    /// The number of posts that show them.
    public let posts: Int
    public let secondsUploaded: Double
    /// From the last upload until the last size was available.
    public let secondsUntilMade: Double
    /// All sizes together, as fetched.
    public let bytes: Int
  }

  public var lines: [Line] = []
  /// The posts during which a worker was killed.
  public var killed: Line?
  public var reactions: Reactions?
  public var fans: Fans?
  /// nil if the machine lacks the programs to process pictures.
  public var pictures: Pictures?
  /// Whether all notifications and their counts match the likes, comments and follows.
  public var areNotificationsExact = false
  /// Whether all rankings match the hearts and registrations.
  public var areRankingsExact = false
  /// Whether all pictures have their files, and all picture counts are right.
  public var arePicturesExact = false
  /// Whether every feed holds exactly what follows and posts require.
  public var isExact = false
  public var feedRows = 0
  public var missing = 0
  public var stale = 0
  /// Jobs that are enqueued but not done.
  public var pending = 0
  public var dead = 0

  private enum CodingKeys: String, CodingKey {
    case lines, killed, reactions, fans, pictures, areNotificationsExact, areRankingsExact, arePicturesExact, isExact
    case feedRows, missing, stale
    // Scripts rely on this key.
    case pending = "owed"
    case dead
  }

  public var isGood: Bool {
    isExact && areNotificationsExact && areRankingsExact && arePicturesExact && pending == 0 && dead == 0
  }
}
