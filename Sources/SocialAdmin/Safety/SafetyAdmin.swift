import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Social

/// Operators' actions on reports: reading them, taking down what breaks the rules, and restoring it.
public struct SafetyAdmin: Sendable {
  private let database: JobsDatabase

  public init(_ database: JobsDatabase) { self.database = database }

  // MARK: Reports

  /// A page of reports, newest first.
  ///
  /// - Parameters:
  ///   - isOpen: nil for all.
  ///   - before: the `next` of an earlier page.
  ///   - limit: 1 to 100,000.
  public func reports(isOpen: Bool? = true, before: String? = nil, limit: Int = 50) async throws -> ReportPage {
    try OperationError.check(limit: limit)
    let last = try before.map { before in
      guard let id = EntityID.parse(before) else {
        throw OperationError(.usage, "--before is '\(before)': use the 'next' of an earlier page")
      }
      return id
    }
    let rows = try await database.pool.query(
      """
      SELECT \(unescaped: Self.columns) FROM \(unescaped: Self.tables)
      WHERE (\(last)::bigint IS NULL OR r.id < \(last))
        AND (\(isOpen)::boolean IS NULL OR (r.resolved_at IS NULL) = \(isOpen))
      ORDER BY r.id DESC LIMIT \(limit + 1)
      """)
    let found = try rows.map(Self.report)
    let items = Array(found.prefix(limit))
    return ReportPage(items: items, next: found.count > limit ? items.last.map { String($0.id) } : nil)
  }

  /// - Throws: `.notFound`.
  public func report(_ id: Int) async throws -> ReportRecord {
    let rows = try await database.pool.query(
      "SELECT \(unescaped: Self.columns) FROM \(unescaped: Self.tables) WHERE r.id = \(id)")
    guard let row = rows.first else { throw OperationError(.notFound, "there is no report \(id)") }
    return try Self.report(row)
  }

  /// Closes a report and all other open ones about the same subject, and applies the resolution.
  ///
  /// - Parameter reason: shown in the action log, and to the author of a subject that is taken down or suspended.
  /// - Throws: `.notFound`, `.conflict` for a closed report, `.forbidden`, and the errors of `takeDown`.
  public func resolve(
    _ id: Int, as resolution: Reports.Resolution, because reason: String, by actor: Operator,
    through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws -> ReportRecord {
    let report = try await report(id)
    guard report.resolution == nil else {
      throw OperationError(.conflict, "the report \(id) is closed: \(report.resolution ?? "")")
    }
    try await jobs.transaction { transaction in
      try await ActionLog(database).record(
        "reports.resolve", report.subject, detail: ["as": resolution.rawValue, "reason": reason], by: actor,
        in: transaction.sql)
      switch resolution {
      case .dismissed: break
      case .takenDown:
        try await Takedowns.takeDown(try Self.subject(report.subject), because: reason, in: transaction)
      case .suspended: try await Suspensions.suspend(report.accountID, because: reason, in: transaction)
      }
      try await Reports.resolve(report.subject, as: resolution, in: transaction.sql)
    }
    return try await self.report(id)
  }

  // MARK: Takedowns

  /// The subjects that are taken down, latest first.
  ///
  /// - Parameter limit: 1 to 100,000.
  public func takedowns(limit: Int = 100) async throws -> [TakedownRecord] {
    try OperationError.check(limit: limit)
    return try await database.pool.query(
      """
      SELECT t.subject, a.username, t.reason, t.taken_down_at FROM takedowns t
      LEFT JOIN accounts a ON a.id = t.account_id ORDER BY t.taken_down_at DESC, t.subject LIMIT \(limit)
      """
    ).decode(String.self, String?.self, String.self, Date.self).map {
      TakedownRecord(subject: $0.0, author: $0.1, reason: $0.2, takenDownAt: $0.3)
    }
  }

  /// Takes down a post, a comment or a picture.
  ///
  /// - Parameter subject: for example, `post/12`, `comment/12/34` or `picture/ID`.
  /// - Throws: `.usage`, `.forbidden`, `not_found`, `cannot_take_down`.
  public func takeDown(
    _ subject: String, because reason: String, by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws {
    let known = try Self.subject(subject)
    try await jobs.transaction { transaction in
      try await ActionLog(database).record(
        "takedowns.add", subject, detail: ["reason": reason], by: actor, in: transaction.sql)
      try await Takedowns.takeDown(known, because: reason, in: transaction)
      try await Reports.resolve(subject, as: .takenDown, in: transaction.sql)
    }
  }

  /// Restores a subject exactly as it was.
  ///
  /// - Throws: as `takeDown` does.
  public func restore(
    _ subject: String, because reason: String, by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws {
    let known = try Self.subject(subject)
    try await jobs.transaction { transaction in
      try await ActionLog(database).record(
        "takedowns.restore", subject, detail: ["reason": reason], by: actor, in: transaction.sql)
      try await Takedowns.restore(known, because: reason, in: transaction)
    }
  }

  private static func subject(_ text: String) throws(OperationError) -> Subject {
    guard let subject = Subject(text) else {
      throw OperationError(
        .usage,
        "'\(text)' cannot be taken down: use post/12, comment/12/34 (34, of post 12) or picture/ID")
    }
    return subject
  }

  private static let tables = """
    reports r LEFT JOIN accounts a ON a.id = r.account_id LEFT JOIN accounts b ON b.id = r.reporter_id
    """
  private static let columns = """
    r.id, r.subject, a.username, r.account_id, b.username, r.reason, r.text, r.excerpt, r.created_at, r.resolved_at,
    r.resolution,
    (SELECT count(*) FROM reports others WHERE others.subject = r.subject)
    """

  private static func report(_ row: PostgresRow) throws -> ReportRecord {
    ReportRecord(
      id: try Int(postgres: row[0]), subject: try String(postgres: row[1]), author: try String?(postgres: row[2]),
      accountID: try Int(postgres: row[3]), reporter: try String?(postgres: row[4]),
      reason: try String(postgres: row[5]), text: try String(postgres: row[6]), excerpt: try String(postgres: row[7]),
      createdAt: try Date(postgres: row[8]), resolvedAt: try Date?(postgres: row[9]),
      resolution: try String?(postgres: row[10]), count: try Int(postgres: row[11]))
  }
}
