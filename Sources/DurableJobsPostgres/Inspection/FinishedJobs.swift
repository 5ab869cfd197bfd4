#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// A filter for dead letters, or for records of ended jobs.
package struct FinishedFilter: Sendable {
  /// Selects records with this end; nil selects dead letters.
  package var end: EndState?
  package var kind: String?
  package var queue: String?
  /// The earliest death or end to include.
  package var since: Date
  package var payload: PayloadCondition?

  package init(
    end: EndState? = nil, kind: String? = nil, queue: String? = nil, since: Date = .distantPast,
    payload: PayloadCondition? = nil
  ) {
    self.end = end
    self.kind = kind
    self.queue = queue
    self.since = since
    self.payload = payload
  }

  /// Whether an index covers exactly the jobs asked for. For dead letters there is one by kind, and one by queue.
  package var isIndexed: Bool {
    let (byKind, byQueue) = (kind != nil, queue != nil)
    return payload == nil && !(end == nil ? byKind && byQueue : byKind || byQueue)
  }

  /// The column whose index is used, and its value; empty text if there is none.
  fileprivate var lead: (column: String, value: String) {
    if let end { return ("state", end.rawValue) }
    if let kind { return ("kind", kind) }
    if let queue { return ("queue", queue) }
    return ("''", "")
  }

  fileprivate var time: String { end == nil ? "died_at" : "ended_at" }
}

/// A position in the list of dead or ended jobs, most recent first.
package struct FinishedPlace: Sendable, Hashable {
  package let at: Date
  package let id: JobID

  package init(at: Date, id: JobID) {
    self.at = at
    self.id = id
  }

  /// The position after all jobs.
  package static let end = FinishedPlace(at: .distantPast, id: JobID(high: 0, low: 0))
}

extension JobRow {
  /// The job's position among dead and ended jobs; nil for a pending job.
  package var finishedPlace: FinishedPlace? {
    switch place {
    case .pending: nil
    case .dead(let at), .ended(_, let at): FinishedPlace(at: at, id: id)
    }
  }
}

/// Dead letters, or records of jobs that ended, read in one transaction.
package struct FinishedJobs: Sendable {
  private let filter: FinishedFilter
  private let schema: JobsSchema
  private let transaction: PostgresTransaction

  fileprivate init(_ filter: FinishedFilter, _ schema: JobsSchema, _ transaction: PostgresTransaction) {
    self.filter = filter
    self.schema = schema
    self.transaction = transaction
  }

  /// The position of the last of `count` rows that the index yields; nil if there are fewer.
  package func edge(from start: FinishedPlace, count: Int) async throws -> FinishedPlace? {
    let time = filter.time
    let rows = try await transaction.query(
      """
      SELECT \(unescaped: time), id FROM \(table) WHERE \(filter, from: start)
      ORDER BY \(unescaped: time) DESC, id DESC OFFSET \(count - 1) LIMIT 1
      """)
    return try rows.decode(Date.self, PostgresUUID.self).first.map { FinishedPlace(at: $0, id: JobID($1)) }
  }

  /// The first matches after one position, up to and including another.
  package func page(from start: FinishedPlace, to end: FinishedPlace, limit: Int) async throws -> [FoundJob] {
    let (time, columns) = (filter.time, filter.end == nil ? JobRow.dead : JobRow.ended)
    return try await transaction.query(
      """
      SELECT \(unescaped: columns), \(soughtBy: filter.payload) FROM \(table)\(preparedFor: filter.payload)
      WHERE \(filter, from: start) AND (\(unescaped: time), id) >= (\(end.at), \(PostgresUUID(end.id)))
        AND (\(filter.kind) IS NULL OR kind = \(filter.kind))
        AND (\(filter.queue) IS NULL OR queue = \(filter.queue)) AND \(filter.payload)
      ORDER BY \(unescaped: time) DESC, id DESC LIMIT \(limit)
      """
    ).map { try FoundJob($0) }
  }

  /// A job's payload; nil if the row no longer exists.
  package func payload(of id: JobID) async throws -> String? {
    try await transaction.query("SELECT payload FROM \(table) WHERE id = \(PostgresUUID(id))").decode(String.self).first
  }

  private var table: PostgresIdentifier { filter.end == nil ? schema.deadJobs : schema.endedJobs }
}

extension JobsDatabase {
  /// Reads dead letters or records of jobs that ended.
  package func finishedJobs<Result: Sendable>(
    _ filter: FinishedFilter, _ body: (FinishedJobs) async throws -> Result
  ) async throws -> Result {
    try await pool.transaction { transaction in
      // Forces the use of the index in this order: the planner underestimates bounds that a prepared statement does not
      // know yet, and would rather sort the whole table.
      try await transaction.pipeline([
        "SET LOCAL plan_cache_mode = force_custom_plan", "SET LOCAL enable_sort = off",
        "SET LOCAL enable_bitmapscan = off",
      ])
      return try await body(FinishedJobs(filter, schema, transaction))
    }
  }
}

extension PostgresQuery.StringInterpolation {
  /// The rows after a position, by the filter's index.
  fileprivate mutating func appendInterpolation(_ filter: FinishedFilter, from start: FinishedPlace) {
    let (lead, time) = (filter.lead, filter.time)
    appendLiteral("\(lead.column) = ")
    appendInterpolation(lead.value)
    appendLiteral(" AND (\(time), id) < (")
    appendInterpolation(start.at)
    appendLiteral(", ")
    appendInterpolation(PostgresUUID(start.id))
    appendLiteral(") AND \(time) >= ")
    appendInterpolation(filter.since)
  }
}
