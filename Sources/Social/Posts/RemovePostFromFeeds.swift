import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Removes a deleted post from feeds: cuts the author's followers into ranges and enqueues a chunk for each.
public struct RemovePostFromFeeds: Job {
  public static let kind: JobKind = "posts.purge"
  public static let queue = SocialJobs.bulkQueue

  public var post: Int
  public var author: Int

  public init(post: Int, author: Int) {
    self.post = post
    self.author = author
  }

  func run(in transaction: AppTransaction) async throws {
    let ranges = try await FollowerRange.cut(followersOf: author, in: transaction.sql)
    try await transaction.sql.execute(
      "UPDATE deleted_posts SET chunks_left = \(Int32(ranges.count)) WHERE id = \(post)")
    let chunks = ranges.map {
      RemovePostFromFeedsChunk(post: post, author: author, first: $0.first, pastLast: $0.pastLast)
    }
    if chunks.count == 1 {
      try await chunks[0].run(in: transaction.sql)
    } else {
      try await transaction.enqueue(chunks)
    }
  }
}

/// Removes a deleted post from the feeds of a range of its author's followers.
public struct RemovePostFromFeedsChunk: Job {
  public static let kind: JobKind = "posts.purge-chunk"
  public static let queue = SocialJobs.bulkQueue

  public var post: Int
  public var author: Int
  public var first: Int
  public var pastLast: Int

  func run(in transaction: PostgresTransaction) async throws {
    try await transaction.execute("SELECT purge_post(\(post), \(author), \(first), \(pastLast))")
    // The last statement, since other chunks wait for this row. After the last chunk no rows are left for an unfollow
    // to find.
    let left = try await transaction.query(
      "UPDATE deleted_posts SET chunks_left = chunks_left - 1 WHERE id = \(post) RETURNING chunks_left"
    ).decode(Int.self)
    if left.first == 0 { try await transaction.execute("DELETE FROM deleted_posts WHERE id = \(post)") }
  }
}
