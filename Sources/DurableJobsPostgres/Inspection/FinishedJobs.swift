#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// Which dead letters, or which records of jobs that ended, are listed.
package struct FinishedFilter: Sendable {
  /// Records of jobs that ended so; nil for dead letters.
  package var end: EndState?
  package var kind: String?
  package var queue: String?
  /// Those that died or ended from then on.
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

  /// Whether an index leads to the jobs that are asked for and to no others. A kind, else a queue, has one of the dead.
  package var isIndexed: Bool {
    let (byKind, byQueue) = (kind != nil, queue != nil)
    return payload == nil && !(end == nil ? byKind && byQueue : byKind || byQueue)
  }

  /// The column whose index is used, and the value there; an empty text has one where none is.
  fileprivate var lead: (column: String, value: String) {
    if let end { return ("state", end.rawValue) }
    if let kind { return ("kind", kind) }
    if let queue { return ("queue", queue) }
    return ("''", "")
  }

  fileprivate var time: String { end == nil ? "died_at" : "ended_at" }
}

/// A place in the order in which jobs died or ended, the last first.
package struct FinishedPlace: Sendable, Hashable {
  package let at: Date
  package let id: JobID

  package init(at: Date, id: JobID) {
    self.at = at
    self.id = id
  }

  /// Behind all of them.
  package static let end = FinishedPlace(at: .distantPast, id: JobID(high: 0, low: 0))
}

extension JobRow {
  /// Its place among those that died or ended; nil for a pending job.
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

  /// The place of the last of `count` rows that the index leads to; nil where there are not so many.
  package func edge(from start: FinishedPlace, count: Int) async throws -> FinishedPlace? {
    let time = filter.time
    let rows = try await transaction.query(
      """
      SELECT \(unescaped: time), id FROM \(table) WHERE \(filter, from: start)
      ORDER BY \(unescaped: time) DESC, id DESC OFFSET \(count - 1) LIMIT 1
      """)
    return try rows.decode(Date.self, PostgresUUID.self).first.map { FinishedPlace(at: $0, id: JobID($1)) }
  }

  /// The first that pass the filter behind one place, up to another and with it.
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

  /// A job's payload; nil if it is not there any more.
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
      // The index that has the order is to be used: of bounds that a prepared statement does not know yet the planner
      // thinks too little, and would rather sort all there is.
      try await transaction.pipeline([
        "SET LOCAL plan_cache_mode = force_custom_plan", "SET LOCAL enable_sort = off",
        "SET LOCAL enable_bitmapscan = off",
      ])
      return try await body(FinishedJobs(filter, schema, transaction))
    }
  }
}

extension PostgresQuery.StringInterpolation {
  /// The rows behind a place that the filter's index leads to.
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
