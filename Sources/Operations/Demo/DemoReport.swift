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

  public var lines: [Line] = []
  /// The posts while which a worker was killed.
  public var killed: Line?
  /// Whether every feed holds what follows and posts say, no more and no less.
  public var isExact = false
  public var feedRows = 0
  public var missing = 0
  public var stale = 0
  /// Jobs that were asked for and are not done.
  public var owed = 0
  public var dead = 0

  public var isGood: Bool { isExact && owed == 0 && dead == 0 }
}
