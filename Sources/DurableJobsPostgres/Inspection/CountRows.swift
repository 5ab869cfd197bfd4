#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// Which counts are read: two days by the minute, eight by the hour.
package enum CountTable: Sendable {
  case minutes
  case hours

  fileprivate var time: String { self == .minutes ? "minute" : "hour" }

  fileprivate func name(in schema: JobsSchema) -> PostgresIdentifier {
    self == .minutes ? schema.minutes : schema.hours
  }
}

/// What workers counted, added up.
package struct CountSums: Sendable, Hashable {
  package var completed = 0
  /// Attempts that failed and were, or are, made again.
  package var failed = 0
  package var dead = 0
  /// For how long slots were taken, in milliseconds.
  package var run = 0.0
  /// How long the jobs were ready before they began, in milliseconds.
  package var wait = 0.0

  package init() {}

  fileprivate init(_ sums: (completed: Int, failed: Int, dead: Int, run: Double, wait: Double)) {
    (completed, failed, dead, run, wait) = sums
  }

  fileprivate static let columns = """
    coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
    coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0)
    """
}

extension JobsDatabase {
  /// What was counted from a moment on, by steps of so many seconds; the key is the number of the step since 1970.
  package func counts(
    _ table: CountTable, since: Date, step: Double, queue: String?, kind: String?
  ) async throws -> [Int: CountSums] {
    let rows = try await pool.query(
      """
      SELECT floor(extract(epoch FROM \(unescaped: table.time)) / \(step))::bigint, \(unescaped: CountSums.columns)
      FROM \(table.name(in: schema)) WHERE \(unescaped: table.time) >= \(since) \(only: queue, kind) GROUP BY 1
      """
    ).decode(Int.self, Int.self, Int.self, Int.self, Double.self, Double.self)
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.0, CountSums(($0.1, $0.2, $0.3, $0.4, $0.5))) })
  }

  /// All that was counted from a moment on.
  package func countSums(
    _ table: CountTable, since: Date, queue: String?, kind: String?
  ) async throws -> CountSums {
    let row = try await pool.query(
      """
      SELECT \(unescaped: CountSums.columns) FROM \(table.name(in: schema))
      WHERE \(unescaped: table.time) >= \(since) \(only: queue, kind)
      """)[0]
    return CountSums(try row.decode(Int.self, Int.self, Int.self, Double.self, Double.self))
  }

  /// The same for each kind of each queue, by queue and kind.
  package func countsByKind(
    _ table: CountTable, since: Date, queue: String?
  ) async throws -> [(queue: String, kind: String, sums: CountSums)] {
    try await pool.query(
      """
      SELECT queue, kind, \(unescaped: CountSums.columns) FROM \(table.name(in: schema))
      WHERE \(unescaped: table.time) >= \(since) \(only: queue, nil) GROUP BY 1, 2 ORDER BY 1, 2
      """
    ).decode(String.self, String.self, Int.self, Int.self, Int.self, Double.self, Double.self).map {
      ($0.0, $0.1, CountSums(($0.2, $0.3, $0.4, $0.5, $0.6)))
    }
  }

  /// The same for each queue.
  package func countsByQueue(_ table: CountTable, since: Date) async throws -> [String: CountSums] {
    let rows = try await pool.query(
      """
      SELECT queue, \(unescaped: CountSums.columns) FROM \(table.name(in: schema))
      WHERE \(unescaped: table.time) >= \(since) GROUP BY queue
      """
    ).decode(String.self, Int.self, Int.self, Int.self, Double.self, Double.self)
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.0, CountSums(($0.1, $0.2, $0.3, $0.4, $0.5))) })
  }
}

extension PostgresQuery.StringInterpolation {
  /// The rows of one queue, of one kind, of both.
  fileprivate mutating func appendInterpolation(only queue: String?, _ kind: String?) {
    if let queue {
      appendLiteral("AND queue = ")
      appendInterpolation(queue)
    }
    if let kind {
      appendLiteral(" AND kind = ")
      appendInterpolation(kind)
    }
  }
}
