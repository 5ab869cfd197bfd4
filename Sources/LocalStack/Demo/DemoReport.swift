/// What the demo did and measured.
public struct DemoReport: Codable, Sendable {
  /// What the posts of one author took.
  public struct Line: Codable, Sendable {
    public let author: String
    public let posts: Int
    /// How many followers the author has.
    public let followers: Int
    /// Rows that came into feeds.
    public let rows: Int
    /// From the API's first answer until the last follower had the last of the posts.
    public let seconds: Double
    /// Jobs that were begun anew because their worker was killed.
    public let retries: Int

    public var rowsPerSecond: Double { Double(rows) / max(seconds, 0.001) }
  }

  /// What readers did with a post, and what its author was told.
  public struct Reactions: Codable, Sendable {
    public let author: String
    public let likes: Int
    public let comments: Int
    public let follows: Int
    /// What the author had not read then.
    public let unread: Int
    /// How long the requests took, one after the other.
    public let secondsAsked: Double
    /// From the last request until the last notification was counted.
    public let secondsUntilTold: Double
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

  /// What fans looked up, gave, and what rankings came of it.
  public struct Fans: Codable, Sendable {
    /// How many asked.
    public let questions: Int
    /// How many lookups it took: those who ask the same share one.
    public let lookups: Int
    public let secondsToFind: Double
    public let hearts: Int
    public let first: [Ranked]
    /// After more hearts.
    public let second: [Ranked]
    /// The size of a certificate's card in bytes; nil where none could be drawn.
    public let card: Int?
  }

  /// What was uploaded, and what was made of it.
  public struct Pictures: Codable, Sendable {
    public let count: Int
    /// How many posts show them.
    public let posts: Int
    public let secondsUploaded: Double
    /// From the last upload until the last size was there.
    public let secondsUntilMade: Double
    /// Of all sizes, as they were fetched.
    public let bytes: Int
  }

  public var lines: [Line] = []
  /// The posts while which a worker was killed.
  public var killed: Line?
  public var reactions: Reactions?
  public var fans: Fans?
  /// nil where the machine has no programs to make pictures with.
  public var pictures: Pictures?
  /// Whether every notification and every count of them is what likes, comments and follows say.
  public var areNotificationsExact = false
  /// Whether every ranking is what hearts and registrations say.
  public var areRankingsExact = false
  /// Whether every picture has its files, and every count of pictures is right.
  public var arePicturesExact = false
  /// Whether every feed holds what follows and posts say, no more and no less.
  public var isExact = false
  public var feedRows = 0
  public var missing = 0
  public var stale = 0
  /// Jobs that were asked for and are not done.
  public var pending = 0
  public var dead = 0

  private enum CodingKeys: String, CodingKey {
    case lines, killed, reactions, fans, pictures, areNotificationsExact, areRankingsExact, arePicturesExact, isExact
    case feedRows, missing, stale
    // The name that scripts know.
    case pending = "owed"
    case dead
  }

  public var isGood: Bool {
    isExact && areNotificationsExact && areRankingsExact && arePicturesExact && pending == 0 && dead == 0
  }
}
