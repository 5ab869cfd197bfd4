/// How much one job does. Tests make these small, so that a handful of accounts takes all paths.
struct FeedSizes: Sendable {
  /// How many followers one chunk has. Measured with 10,000,000 rows in the feeds and two connections: a million
  /// followers take 1.3 s in chunks of 10,000 to 50,000, and smaller ones let an unfollow wait for less.
  var chunk = 10_000
  /// How many of the followee's posts a follow puts into the feed at once; older ones come by the job `feed.backfill`.
  var followAtOnce = 100
  /// How many posts one such job adds.
  var backfillPage = 1000
  /// How many stale rows a rebuild reads before it removes them: what it holds in memory.
  var rebuildRead = 200_000
  /// How many rows a rebuild adds or removes in one transaction: a follow, an unfollow or a post of the same author
  /// waits for one piece at most.
  var rebuildPiece = 10_000
  /// Of how many followees one job makes a feed again.
  var refillFollowees = 100

  @TaskLocal static var current = FeedSizes()
}
