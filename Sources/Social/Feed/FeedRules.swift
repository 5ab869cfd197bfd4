/// The settings for feeds.
public struct FeedRules: Sendable {
  /// The most followers that an author can have for posts to be pushed into their feeds.
  public var pushLimit: Int
  /// Whether to record which accounts read their feeds, so that the others can fall asleep.
  public var notesReaders: Bool

  public init(pushLimit: Int = Posts.pushLimit, notesReaders: Bool = false) {
    self.pushLimit = pushLimit
    self.notesReaders = notesReaders
  }
}
