import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Delivers a post to its followers' feeds: directly if they are few, otherwise in chunks that many workers share. For
/// a pulled post it only counts them.
///
/// It uses a different queue from the chunks, so that a small author's post never waits behind a large author's chunks.
public struct PostFanOut: Job {
  public static let kind: JobKind = "posts.fan-out"
  public static let queue = SocialJobs.fanOutQueue

  public var post: Int
  public var author: Int

  public init(post: Int, author: Int) {
    self.post = post
    self.author = author
  }

  func run(in transaction: AppTransaction) async throws {
    // The row lock prevents the post's deletion until the fan-out's row exists and can be deleted with it.
    let found = try await transaction.sql.query(
      "SELECT is_pulled FROM posts WHERE id = \(post) AND author_id = \(author) FOR KEY SHARE"
    ).decode(Bool.self)
    guard let isPulled = found.first else { return }
    let ranges = try await FollowerRange.cut(followersOf: author, in: transaction.sql)
    let followers = ranges.reduce(0) { $0 + $1.followers }
    if isPulled {
      // All followers can read it already; only their number is missing.
      try await transaction.sql.execute(
        """
        INSERT INTO fan_outs (post_id, author_id, followers, delivered, chunks, finished_at)
        VALUES (\(post), \(author), \(followers), \(followers), 0, clock_timestamp())
        ON CONFLICT (post_id) DO UPDATE SET followers = excluded.followers, delivered = excluded.delivered
        """)
      return
    }
    // An operator may repeat a post's fan-out; it then counts from zero.
    try await transaction.sql.execute(
      """
      INSERT INTO fan_outs (post_id, author_id, followers, chunks)
      VALUES (\(post), \(author), \(followers), \(Int32(ranges.count)))
      ON CONFLICT (post_id) DO UPDATE SET followers = excluded.followers, delivered = 0, chunks = excluded.chunks,
        chunks_done = 0, started_at = excluded.started_at, finished_at = NULL
      """)
    let chunks = ranges.map { PostFanOutChunk(post: post, author: author, first: $0.first, pastLast: $0.pastLast) }
    if chunks.count == 1 {
      try await chunks[0].run(in: transaction.sql)
    } else {
      try await transaction.enqueue(chunks)
    }
  }
}

/// Delivers a post to a range of its author's followers.
public struct PostFanOutChunk: Job {
  public static let kind: JobKind = "posts.fan-out-chunk"
  public static let queue = SocialJobs.bulkQueue

  public var post: Int
  public var author: Int
  public var first: Int
  public var pastLast: Int

  func run(in transaction: PostgresTransaction) async throws {
    let delivered = try await transaction.query(
      "SELECT deliver_post(\(post), \(author), \(first), \(pastLast))"
    )[0].decode(Int?.self)
    guard let delivered else { return }
    // The last statement, since other chunks wait for this row. The last chunk sets `followers` to the number
    // delivered, so that the two match even if accounts followed or unfollowed meanwhile.
    try await transaction.execute(
      """
      UPDATE fan_outs SET delivered = delivered + \(delivered), chunks_done = chunks_done + 1,
        followers = CASE WHEN chunks_done + 1 >= chunks THEN delivered + \(delivered) ELSE followers END,
        finished_at = CASE WHEN chunks_done + 1 >= chunks THEN clock_timestamp() END
      WHERE post_id = \(post)
      """)
  }
}
