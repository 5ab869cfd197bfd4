import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Social

/// Operators' actions on pictures.
public struct MediaAdmin: Sendable {
  private let database: JobsDatabase

  public init(_ database: JobsDatabase) { self.database = database }

  /// - Parameters:
  ///   - owner: the owner's username; nil for all.
  ///   - state: `waiting`, `ready` or `failed`; nil for any.
  ///   - before: the `next` of an earlier page.
  ///   - limit: 1 to 100,000.
  public func list(
    owner: String? = nil, state: Media.State? = nil, before: String? = nil, limit: Int = 50
  ) async throws -> MediaPage {
    try OperationError.check(limit: limit)
    let account: Int? = if let owner { try await Accounts.id(of: owner, in: database.pool) } else { nil }
    let rows = try await database.pool.query(
      """
      SELECT \(unescaped: Self.columns) FROM \(unescaped: Self.tables)
      WHERE (\(account)::bigint IS NULL OR m.owner_id = \(account))
        AND (\(state?.rawValue)::text IS NULL OR \(state?.rawValue) = \(unescaped: Self.state))
        AND (\(before)::text IS NULL
          OR (m.created_at, m.id) < (SELECT created_at, id FROM media WHERE id = \(before)))
      ORDER BY m.created_at DESC, m.id DESC LIMIT \(limit + 1)
      """)
    let found = try rows.map(Self.summary)
    let items = Array(found.prefix(limit))
    return MediaPage(items: items, next: found.count > limit ? items.last?.id : nil)
  }

  /// - Throws: `.notFound`.
  public func show(_ id: String) async throws -> MediaSummary {
    let rows = try await database.pool.query(
      "SELECT \(unescaped: Self.columns) FROM \(unescaped: Self.tables) WHERE m.id = \(id)")
    guard let row = rows.first else { throw OperationError(.notFound, "there is no picture \(id)") }
    return try Self.summary(row)
  }

  /// Removes a picture from its owner and from everything that shows it. Its bytes are deleted with their last picture.
  ///
  /// - Parameter reason: for the action log.
  /// - Throws: `.notFound`, `.forbidden`.
  public func delete(
    _ id: String, because reason: String, by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws -> MediaSummary {
    let summary = try await show(id)
    guard let media = MediaID(id) else { throw OperationError(.notFound, "there is no picture \(id)") }
    try await jobs.transaction { transaction in
      try await ActionLog(database).record(
        "media.delete", id, detail: ["owner": summary.owner ?? "", "reason": reason], by: actor, in: transaction.sql)
      try await MediaLibrary.withdraw(media, in: transaction)
    }
    return summary
  }

  /// Runs the hourly and daily sweeps now: they delete pictures shown nowhere for a day, and stored objects that belong
  /// to no picture.
  public func sweep(by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>) async throws {
    try await jobs.transaction { transaction in
      try await ActionLog(database).record("media.sweep", "media", by: actor, in: transaction.sql)
      try await transaction.enqueue(MediaSweep())
      try await transaction.enqueue(MediaOrphans())
    }
  }

  private static let tables = """
    media m LEFT JOIN media_files f ON f.id = m.file_id LEFT JOIN accounts a ON a.id = m.owner_id
    """
  private static let state =
    "CASE WHEN m.failure IS NOT NULL THEN 'failed' WHEN f.ready THEN 'ready' ELSE 'waiting' END"
  private static let columns = """
    m.id, a.username, \(state), coalesce(f.width, 0), coalesce(f.height, 0), coalesce(f.bytes, 0), f.stored_bytes,
    m.uses, coalesce(f.owners, 0), f.id, m.failure, m.created_at
    """

  private static func summary(_ row: PostgresRow) throws -> MediaSummary {
    MediaSummary(
      id: try String(postgres: row[0]), owner: try String?(postgres: row[1]), state: try String(postgres: row[2]),
      width: Int(try Int32(postgres: row[3])), height: Int(try Int32(postgres: row[4])),
      bytes: try Int(postgres: row[5]), storedBytes: try Int?(postgres: row[6]), uses: Int(try Int32(postgres: row[7])),
      owners: Int(try Int32(postgres: row[8])), file: try String?(postgres: row[9]),
      reason: try String?(postgres: row[10]), createdAt: try Date(postgres: row[11]))
  }
}
