import DurableJobsAdmin
import LibPQClient

/// Writes a snapshot of accounts and follows into files that `GraphImport` reads.
public struct GraphExport: Sendable {
  /// The number of lines in each file.
  public struct Report: Codable, Sendable, Hashable {
    public var accounts = 0
    public var follows = 0
  }

  private static let page = 10_000

  private let users: String?
  private let follows: String?

  /// - Parameters:
  ///   - users: the file of accounts, gzipped if its name ends in `.gz`, `-` for standard output; nil for none.
  ///   - follows: the file of follows.
  public init(users: String? = nil, follows: String? = nil) {
    self.users = users
    self.follows = follows
  }

  /// - Parameter progress: called regularly with the number of lines written.
  /// - Throws: `.noOutput` for a file that cannot be written; no partial file remains.
  public func run(on pool: PostgresPool, progress: @Sendable (Int) -> Void = { _ in }) async throws -> Report {
    try await pool.transaction(.snapshot) { transaction in
      var report = Report()
      if let users {
        report.accounts = try await Self.accounts(to: users, in: transaction) { progress($0) }
      }
      if let follows {
        let before = report.accounts
        report.follows = try await Self.follows(to: follows, in: transaction) { progress(before + $0) }
      }
      return report
    }
  }

  private static func accounts(
    to path: String, in transaction: PostgresTransaction, progress: (Int) -> Void
  ) async throws -> Int {
    let file = try ExportFile(path: path)
    var (last, count) = (0, 0)
    while true {
      let rows = try await transaction.query(
        "SELECT id, username, major FROM accounts WHERE id > \(last) ORDER BY id LIMIT \(page)", timeout: .seconds(600)
      ).decode(Int.self, String.self, String.self)
      for (id, username, major) in rows {
        try await file.write(line: "\(username)\t\(field(major))".utf8)
        last = id
      }
      count += rows.count
      progress(count)
      if rows.count < page { break }
    }
    try await file.finish()
    return count
  }

  private static func follows(
    to path: String, in transaction: PostgresTransaction, progress: (Int) -> Void
  ) async throws -> Int {
    let file = try ExportFile(path: path)
    var (followee, follower, count) = (0, 0, 0)
    while true {
      let rows = try await transaction.query(
        """
        SELECT x.followee_id, x.follower_id, f.username, a.username FROM (
          SELECT followee_id, follower_id FROM follows WHERE (followee_id, follower_id) > (\(followee), \(follower))
          ORDER BY followee_id, follower_id LIMIT \(page)
        ) x JOIN accounts f ON f.id = x.follower_id JOIN accounts a ON a.id = x.followee_id
        ORDER BY x.followee_id, x.follower_id
        """, timeout: .seconds(600)
      ).decode(Int.self, Int.self, String.self, String.self)
      for row in rows {
        try await file.write(line: "\(row.2)\t\(row.3)".utf8)
        (followee, follower) = (row.0, row.1)
      }
      count += rows.count
      progress(count)
      if rows.count < page { break }
    }
    try await file.finish()
    return count
  }

  /// A field must contain no tab and no line break.
  private static func field(_ text: String) -> String {
    text.contains { $0 == "\t" || $0.isNewline }
      ? text.replacing(/[\t\n\r\u{B}\u{C}\u{85}\u{2028}\u{2029}]+/, with: " ") : text
  }
}
