/// How feeds are kept.
public struct FeedRules: Sendable {
  /// How many followers an author has at most whose posts are pushed into their feeds.
  public var mostPushed: Int
  /// Whether it is written down who reads, so that who does not may fall asleep.
  public var notesReaders: Bool

  public init(mostPushed: Int = Posts.mostPushed, notesReaders: Bool = false) {
    self.mostPushed = mostPushed
    self.notesReaders = notesReaders
  }
}
