import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Writes pending jobs or dead letters as JSON lines, one a job, as they are at one moment.
public struct JobExport: Sendable {
  /// Which jobs are written.
  public enum Which: Sendable {
    case pending
    case dead
  }

  /// A line.
  private struct Line: Encodable {
    let id: String
    let kind: String
    let queue: String
    let version: Int
    let priority: String
    let attempts: Int
    let createdAt: Date
    let runAt: Date?
    let diedAt: Date?
    let uniqueKey: String?
    let isParked: Bool
    let payload: String
    let failures: [JobFailure]
  }

  fileprivate static let page = 5000

  private let which: Which
  private let path: String

  /// - Parameter path: packed by gzip where it ends in `.gz`; `-` is the standard output.
  public init(_ which: Which, to path: String) {
    self.which = which
    self.path = path
  }

  /// - Returns: how many lines there are.
  /// - Throws: `.noOutput` for a file that cannot be written; then it is not there.
  public func run(on pool: PostgresPool, progress: @Sendable (Int) -> Void = { _ in }) async throws -> Int {
    try await pool.transaction(.snapshot) { transaction in
      let file = try ExportFile(path: path)
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .iso8601
      var count = 0
      var last = (queue: "", id: PostgresUUID(JobID(high: 0, low: 0)))
      while true {
        let rows = try await transaction.query(query(after: last), timeout: .seconds(600))
        for row in rows {
          let (line, id) = try Self.line(row)
          try await file.write(line: try encoder.encode(line))
          last = (line.queue, id)
        }
        count += rows.count
        progress(count)
        if rows.isEmpty { break }
      }
      try await file.finish()
      return count
    }
  }

  /// A page in the order of the table's key, bounded by the bytes of its payloads too.
  private func query(after last: (queue: String, id: PostgresUUID)) -> PostgresQuery {
    let order = which == .pending ? "queue, id" : "id"
    return """
      SELECT * FROM (
        SELECT *, octet_length(payload) AS size,
          sum(octet_length(payload)) OVER (ORDER BY \(unescaped: order) ROWS UNBOUNDED PRECEDING) AS total
        FROM (\(rows: which, after: last)) AS page
      ) AS bounded WHERE total <= \(PayloadLimit.batch) OR total = size ORDER BY \(unescaped: order)
      """
  }

  private static func line(_ row: PostgresRow) throws -> (Line, PostgresUUID) {
    let id = try row.decode(PostgresUUID.self, named: "id")
    let noted = try row.decode(PostgresJSON?.self, named: "failures")
    let priority = JobPriority(rawValue: UInt8(clamping: try row.decode(Int.self, named: "priority"))) ?? .normal
    let line = Line(
      id: JobID(id).description, kind: try row.decode(String.self, named: "kind"),
      queue: try row.decode(String.self, named: "queue"), version: try row.decode(Int.self, named: "version"),
      priority: "\(priority)", attempts: try row.decode(Int.self, named: "attempts"),
      createdAt: try row.decode(Date.self, named: "created_at"), runAt: try row.decode(Date?.self, named: "run_at"),
      diedAt: try row.decode(Date?.self, named: "died_at"),
      uniqueKey: try row.decode(String?.self, named: "unique_key"),
      isParked: try row.decode(Bool.self, named: "parked"), payload: try row.decode(String.self, named: "payload"),
      failures: try noted.map { try JSONDecoder().decode([JobFailure].self, from: Data($0.bytes)) } ?? [])
    return (line, id)
  }
}

extension PostgresQuery.StringInterpolation {
  fileprivate mutating func appendInterpolation(
    rows which: JobExport.Which, after last: (queue: String, id: PostgresUUID)
  ) {
    switch which {
    case .pending:
      appendLiteral(
        """
        SELECT id, kind, queue, version, priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, unique_key,
          parked, payload, failures
        FROM jobs WHERE (queue, id) > (
        """)
      appendInterpolation(last.queue)
      appendLiteral(", ")
      appendInterpolation(last.id)
      appendLiteral(") ORDER BY queue, id LIMIT ")
    case .dead:
      appendLiteral(
        """
        SELECT id, kind, queue, version, priority, attempts, created_at, NULL::timestamptz AS run_at, died_at, unique_key,
          false AS parked, payload, failures
        FROM dead_jobs WHERE id > (
        """)
      appendInterpolation(last.id)
      appendLiteral(") ORDER BY id LIMIT ")
    }
    appendInterpolation(JobExport.page)
  }
}
