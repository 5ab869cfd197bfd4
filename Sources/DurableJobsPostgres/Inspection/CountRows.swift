#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// The granularity of the counts: two days by the minute, eight by the hour.
package enum CountTable: Sendable {
  case minutes
  case hours

  fileprivate var time: String { self == .minutes ? "minute" : "hour" }

  fileprivate func name(in schema: JobsSchema) -> PostgresIdentifier {
    self == .minutes ? schema.minutes : schema.hours
  }
}

extension JobCounts {
  fileprivate static let columns = """
    coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
    coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0)
    """

  /// Times are stored in milliseconds.
  fileprivate init(_ sums: (completed: Int, failed: Int, dead: Int, run: Double, wait: Double)) {
    self.init()
    (completed, failed, dead) = (sums.completed, sums.failed, sums.dead)
    (run, wait) = (.milliseconds(1) * sums.run, .milliseconds(1) * sums.wait)
  }
}

extension JobsDatabase {
  /// The counts since a moment, by steps of a given length in seconds; the key is the step's number since 1970.
  package func counts(
    _ table: CountTable, since: Date, step: Double, queue: String?, kind: String?
  ) async throws -> [Int: JobCounts] {
    let rows = try await pool.query(
      """
      SELECT floor(extract(epoch FROM \(unescaped: table.time)) / \(step))::bigint, \(unescaped: JobCounts.columns)
      FROM \(table.name(in: schema)) WHERE \(unescaped: table.time) >= \(since) \(only: queue, kind) GROUP BY 1
      """
    ).decode(Int.self, Int.self, Int.self, Int.self, Double.self, Double.self)
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.0, JobCounts(($0.1, $0.2, $0.3, $0.4, $0.5))) })
  }

  /// The total counts since a moment.
  package func counted(
    _ table: CountTable, since: Date, queue: String?, kind: String?
  ) async throws -> JobCounts {
    let row = try await pool.query(
      """
      SELECT \(unescaped: JobCounts.columns) FROM \(table.name(in: schema))
      WHERE \(unescaped: table.time) >= \(since) \(only: queue, kind)
      """)[0]
    return JobCounts(try row.decode(Int.self, Int.self, Int.self, Double.self, Double.self))
  }

  /// The total counts for each kind of each queue, by queue and kind.
  package func countsByKind(
    _ table: CountTable, since: Date, queue: String?
  ) async throws -> [(queue: String, kind: String, counts: JobCounts)] {
    try await pool.query(
      """
      SELECT queue, kind, \(unescaped: JobCounts.columns) FROM \(table.name(in: schema))
      WHERE \(unescaped: table.time) >= \(since) \(only: queue, nil) GROUP BY 1, 2 ORDER BY 1, 2
      """
    ).decode(String.self, String.self, Int.self, Int.self, Int.self, Double.self, Double.self).map {
      ($0.0, $0.1, JobCounts(($0.2, $0.3, $0.4, $0.5, $0.6)))
    }
  }

  /// The total counts for each queue.
  package func countsByQueue(_ table: CountTable, since: Date) async throws -> [String: JobCounts] {
    let rows = try await pool.query(
      """
      SELECT queue, \(unescaped: JobCounts.columns) FROM \(table.name(in: schema))
      WHERE \(unescaped: table.time) >= \(since) GROUP BY queue
      """
    ).decode(String.self, Int.self, Int.self, Int.self, Double.self, Double.self)
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.0, JobCounts(($0.1, $0.2, $0.3, $0.4, $0.5))) })
  }
}

extension JobsDatabase {
  /// The histograms since a moment for each kind of each queue: of run times, and of waiting times.
  package func histograms(
    _ table: CountTable, since: Date, queue: String?, kind: String? = nil
  ) async throws -> [(queue: String, kind: String, run: DurationHistogram, wait: DurationHistogram)] {
    try await pool.query(
      """
      SELECT queue, kind, \(schema.histogramSum)(run_histogram), \(schema.histogramSum)(wait_histogram)
      FROM \(table.name(in: schema)) WHERE \(unescaped: table.time) >= \(since) \(only: queue, kind) GROUP BY 1, 2
      """
    ).decode(String.self, String.self, [Int].self, [Int].self).map {
      ($0.0, $0.1, DurationHistogram(counts: $0.2), DurationHistogram(counts: $0.3))
    }
  }
}

extension PostgresQuery.StringInterpolation {
  /// Limits rows to one queue, one kind, or both.
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
