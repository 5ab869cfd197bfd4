import DurableJobsAdmin
import Foundation
import LibPQClient

/// Somebody who posts in the demo.
struct DemoAuthor: Sendable {
  let id: Int
  let username: String
  let followers: Int

  /// For each of `sizes` the account whose followers come nearest to it in number; the smallest first.
  static func choose(_ sizes: [Int], on pool: PostgresPool) async throws -> [DemoAuthor] {
    let rows = try await pool.query(
      """
      WITH sizes AS MATERIALIZED (SELECT followee_id AS id, count(*) AS followers FROM follows GROUP BY followee_id)
      SELECT DISTINCT ON (wanted) id, username, followers
      FROM unnest(\(sizes)) AS wanted, sizes JOIN accounts USING (id)
      ORDER BY wanted, abs(followers::numeric - wanted), id
      """)
    return try rows.decode(Int.self, String.self, Int.self).map {
      DemoAuthor(id: $0.0, username: $0.1, followers: $0.2)
    }
  }
}

/// A post, and when the API's answer to it was there.
struct DemoPost: Sendable {
  let id: Int
  let answered: Date
}

/// Posts of one author on their way to the followers, as the database shows them.
struct DemoFanOut: Sendable {
  let author: DemoAuthor
  let posts: [DemoPost]

  private var ids: [Int] { posts.map(\.id) }
  private static let patience = Duration.seconds(120)

  /// Rows that are in feeds so far.
  func delivered(on pool: PostgresPool) async throws -> Int {
    try await pool.query("SELECT coalesce(sum(delivered), 0)::bigint FROM fan_outs WHERE post_id = ANY(\(ids))")[0]
      .decode(Int.self)
  }

  /// Waits until some rows are delivered and others are not.
  func waitUntilUnderWay(on pool: PostgresPool) async throws {
    try await wait { try await delivered(on: pool) > 0 }
  }

  func waitUntilDone(on pool: PostgresPool) async throws {
    try await wait {
      try await pool.query(
        "SELECT count(*) FROM fan_outs WHERE post_id = ANY(\(ids)) AND finished_at IS NOT NULL")[0].decode(Int.self)
        == posts.count
    }
  }

  /// Waits until it is done, and says what it took.
  func line(on pool: PostgresPool, retries: Int) async throws -> DemoReport.Line {
    try await waitUntilDone(on: pool)
    let last = try await pool.query("SELECT max(finished_at) FROM fan_outs WHERE post_id = ANY(\(ids))")[0]
      .decode(Date.self)
    let query: PostgresQuery = "SELECT count(*) FROM following_user_posts WHERE post_id = ANY(\(ids))"
    let rows = try await pool.query(query, timeout: .seconds(60))[0].decode(Int.self)
    let first = posts.map(\.answered).min() ?? last
    // A fan-out to a few followers can be over before the API's answer is read.
    return DemoReport.Line(
      author: author.username, posts: posts.count, followers: author.followers, rows: rows,
      seconds: max(0, last.timeIntervalSince(first)), retries: retries)
  }

  private func wait(until isMet: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + Self.patience
    while try await !isMet() {
      guard .now < deadline else {
        throw OperationError(.failed, "the posts of \(author.username) are not delivered after \(Self.patience)")
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
