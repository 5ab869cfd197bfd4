import DurableJobsAdmin
import Foundation
import LibPQClient

/// An author in the demo.
struct DemoAuthor: Sendable {
  let id: Int
  let username: String
  let followers: Int

  /// For each of `sizes`, the account with the closest number of followers; smallest first.
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

/// A post, and the time of the API's response.
struct DemoPost: Sendable {
  let id: Int
  let answered: Date
}

/// An author's posts in fan-out, as recorded in the database.
struct DemoFanOut: Sendable {
  let author: DemoAuthor
  let posts: [DemoPost]

  private var ids: [Int] { posts.map(\.id) }
  private static let patience = Duration.seconds(120)

  /// The number of rows in feeds so far.
  func delivered(on pool: PostgresPool) async throws -> Int {
    try await pool.query("SELECT coalesce(sum(delivered), 0)::bigint FROM fan_outs WHERE post_id = ANY(\(ids))")[0]
      .decode(Int.self)
  }

  /// Waits until some but not all rows are delivered.
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

  /// Waits for completion and returns the measurements.
  func line(on pool: PostgresPool, retries: Int) async throws -> DemoReport.Line {
    try await waitUntilDone(on: pool)
    let last = try await pool.query("SELECT max(finished_at) FROM fan_outs WHERE post_id = ANY(\(ids))")[0]
      .decode(Date.self)
    let query: PostgresQuery = "SELECT count(*) FROM following_user_posts WHERE post_id = ANY(\(ids))"
    let rows = try await pool.query(query, timeout: .seconds(60))[0].decode(Int.self)
    let first = posts.map(\.answered).min() ?? last
    // A small fan-out may finish before the API's response is read.
    return DemoReport.Line(
      author: author.username, posts: posts.count, followers: author.followers, rows: rows,
      seconds: max(0, last.timeIntervalSince(first)), retries: retries)
  }

  private func wait(until isMet: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + Self.patience
    while try await !isMet() {
      guard .now < deadline else {
        throw OperationError(.failed, "the posts of \(author.username) were not delivered within \(Self.patience)")
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
