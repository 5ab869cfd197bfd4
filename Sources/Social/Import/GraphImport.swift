import LibPQClient

/// Imports accounts and follows from files, all of them or none.
///
/// A line of accounts is `username[TAB]major`, one of follows `follower[TAB]followee`; a line that begins with `#` is a
/// comment. Existing rows are unchanged, so the same files can be imported again.
public struct GraphImport: Sendable {
  /// The file of accounts, plain or gzipped; nil for none.
  public var users: String?
  /// The file of follows, plain or gzipped; nil for none.
  public var follows: String?

  public init(users: String? = nil, follows: String? = nil) {
    self.users = users
    self.follows = follows
  }

  /// The progress of an import.
  public struct Progress: Sendable, Hashable {
    /// The phases, in order.
    public enum Phase: String, Sendable { case readingUsers, readingFollows, addingUsers, addingFollows, done }
    public let phase: Phase
    /// Lines of the phase's file read so far.
    public let lines: Int
  }

  /// The result of an import.
  public struct Report: Sendable, Hashable {
    public var accountsAdded = 0
    /// Accounts that existed already, or were in the file more than once.
    public var accountsKnown = 0
    public var followsAdded = 0
    public var followsKnown = 0
    /// Feed rows added by the new follows, for followees with posts.
    public var feedRows = 0
  }

  /// Imports both files in one transaction.
  ///
  /// Posting is blocked from the moment follows are added until the import commits: a few seconds for a million.
  ///
  /// - Parameter progress: called from time to time, on any thread.
  /// - Throws: `GraphImportError` with the file and line number of up to ten wrong lines; `PostgresError`.
  public func run(
    on pool: PostgresPool, progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Report {
    let report = try await pool.transaction { transaction in
      var report = Report()
      // Costs on fresh tables are guesses that trigger JIT compilation, which takes longer than running the statements.
      try await transaction.execute("SET LOCAL jit = off")
      if let users {
        try await GraphFile.users(users).load(into: transaction) { progress(Progress(phase: .readingUsers, lines: $0)) }
      }
      if let follows {
        try await GraphFile.follows(follows).load(into: transaction) {
          progress(Progress(phase: .readingFollows, lines: $0))
        }
      }
      if let users {
        progress(Progress(phase: .addingUsers, lines: 0))
        try await Self.addUsers(users, in: transaction, &report)
      }
      if let follows {
        progress(Progress(phase: .addingFollows, lines: 0))
        try await Self.addFollows(follows, in: transaction, &report)
      }
      return report
    }
    // Updates the planner's statistics, and the visibility map, which lets a fan-out read followers from the index
    // alone.
    for table in ["accounts", "follows"] {
      try await pool.execute("VACUUM (ANALYZE) \(unescaped: table)", timeout: Self.timeout)
    }
    progress(Progress(phase: .done, lines: 0))
    return report
  }

  private static let timeout = Duration.seconds(3600)

  private static func addUsers(_ file: String, in transaction: PostgresTransaction, _ report: inout Report) async throws
  {
    let contradictions = try await transaction.query(
      """
      SELECT line, 'the account ' || username || ' stands in line ' || first_line || ' with another major' FROM (
        SELECT line, username, major, first_value(line) OVER same AS first_line,
          first_value(major) OVER same AS first_major
        FROM import_users WINDOW same AS (PARTITION BY lower(username) COLLATE "C" ORDER BY line)
      ) x WHERE major <> first_major ORDER BY line LIMIT \(GraphImportError.maxCount)
      """, timeout: timeout)
    try refuse(contradictions, file)
    let kept = try await transaction.query(
      """
      SELECT i.line, 'the name ' || i.username || ' is kept for the account that had it, now ' || a.username
      FROM import_users i
      JOIN former_usernames f ON lower(f.username) COLLATE "C" = lower(i.username) COLLATE "C"
      JOIN accounts a ON a.id = f.account_id
      WHERE f.kept_until > now() AND lower(a.username) COLLATE "C" <> lower(i.username) COLLATE "C"
        AND NOT EXISTS (SELECT FROM accounts o WHERE lower(o.username) COLLATE "C" = lower(i.username) COLLATE "C")
      ORDER BY i.line LIMIT \(GraphImportError.maxCount)
      """, timeout: timeout)
    try refuse(kept, file)
    report.accountsAdded = try await transaction.execute(
      """
      INSERT INTO accounts (username, major)
      SELECT username, major FROM (
        SELECT DISTINCT ON (lower(username) COLLATE "C") line, username, major FROM import_users
        ORDER BY lower(username) COLLATE "C", line
      ) x ORDER BY line
      ON CONFLICT DO NOTHING
      """, timeout: timeout)
    let lines = try await transaction.query("SELECT count(*) FROM import_users")[0].decode(Int.self)
    report.accountsKnown = lines - report.accountsAdded
  }

  static func addFollows(_ file: String, in transaction: PostgresTransaction, _ report: inout Report)
    async throws
  {
    try await transaction.executeScript(
      """
      CREATE TEMPORARY TABLE import_edges ON COMMIT DROP AS
      SELECT line, f.id AS follower, a.id AS followee, i.follower AS follower_name, i.followee AS followee_name
      FROM import_follows i
      LEFT JOIN accounts f ON lower(f.username) COLLATE "C" = lower(i.follower) COLLATE "C"
      LEFT JOIN accounts a ON lower(a.username) COLLATE "C" = lower(i.followee) COLLATE "C";
      ANALYZE import_edges;
      """, timeout: timeout)
    let unknown = try await transaction.query(
      """
      SELECT line, 'there is no account ' || CASE WHEN follower IS NULL THEN follower_name ELSE followee_name END
      FROM import_edges WHERE follower IS NULL OR followee IS NULL ORDER BY line LIMIT \(GraphImportError.maxCount)
      """, timeout: timeout)
    try refuse(unknown, file)
    // Blocks creating and deleting posts. One table lock replaces a lock per author (`migrations/0006_fan_outs.sql`),
    // of which a server does not have enough. Fan-outs, follows and reads continue.
    try await transaction.execute("LOCK TABLE posts IN SHARE MODE", timeout: timeout)
    let added = try await transaction.query(
      """
      WITH added AS (
        INSERT INTO follows (follower_id, followee_id)
        SELECT DISTINCT follower, followee FROM import_edges ORDER BY followee, follower
        ON CONFLICT DO NOTHING RETURNING follower_id, followee_id
      ), spread AS (
        INSERT INTO following_user_posts (user_id, post_id)
        SELECT follower_id, id FROM added JOIN posts ON author_id = followee_id
        WHERE id >= (SELECT post_id FROM feed_floor) AND NOT is_pulled
        ORDER BY id, follower_id
        ON CONFLICT DO NOTHING RETURNING 1
      )
      SELECT (SELECT count(*) FROM added), (SELECT count(*) FROM spread), (SELECT count(*) FROM import_edges)
      """, timeout: timeout)
    let (follows, rows, lines) = try added[0].decode(Int.self, Int.self, Int.self)
    report.followsAdded = follows
    report.followsKnown = lines - follows
    report.feedRows = rows
  }

  private static func refuse(_ rows: PostgresRows, _ file: String) throws {
    if rows.isEmpty { return }
    throw GraphImportError(
      try rows.decode(Int.self, String.self).map { GraphImportError.Line(file: file, number: $0.0, problem: $0.1) })
  }
}
