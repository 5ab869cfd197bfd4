/// The amount of work per job. Tests use small numbers, so that a handful of accounts covers every path.
struct FeedSizes: Sendable {
  /// Followers per chunk. Measured with 10,000,000 feed rows and two connections: a million followers take 1.3 s in
  /// chunks of 10,000 to 50,000, and smaller chunks make an unfollow wait less.
  var chunk = 10_000
  /// How many of the followee's posts a follow adds to the feed at once; the job `feed.backfill` adds older ones.
  var followAtOnce = 100
  /// Posts that one backfill job adds.
  var backfillPage = 1000
  /// Stale rows that a rebuild reads into memory before it removes them.
  var rebuildRead = 200_000
  /// Rows that a rebuild adds or removes per transaction. A follow, an unfollow or a post of the same author waits for
  /// at most one piece.
  var rebuildPiece = 10_000
  /// Followees per job when refilling a feed.
  var refillFollowees = 100

  @TaskLocal static var current = FeedSizes()
}
