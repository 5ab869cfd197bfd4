import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Puts a page of dead or ended jobs together, the last to die or end first.
///
/// A kind, else a queue, leads to its own index of the dead. Other filters look at a bounded number of rows, however
/// many there are, and the page then says where to go on.
struct FinishedListing {
  let filter: JobFilter
  let pool: PostgresPool

  /// A place in the order of the list.
  fileprivate struct Place {
    let at: Date
    let id: JobID

    init(at: Date, id: JobID) {
      self.at = at
      self.id = id
    }

    /// - Throws: `.usage` for what no page has given.
    init(_ cursor: String) throws(OperationError) {
      let parts = cursor.split(separator: ".")
      guard parts.count == 2, let microseconds = Int64(parts[0]), let id = JobID(String(parts[1])) else {
        throw OperationError(.usage, "'\(cursor)' is not the `next` of an earlier page")
      }
      at = Date(timeIntervalSinceReferenceDate: Double(microseconds) / 1e6)
      self.id = id
    }

    /// Microseconds, as the server keeps them, so that nothing is left out between two pages.
    var cursor: String { "\(Int64((at.timeIntervalSinceReferenceDate * 1e6).rounded())).\(id)" }
  }

  private var isDead: Bool { filter.state == .dead }
  private var table: String { isDead ? "dead_jobs" : "ended_jobs" }
  private var time: String { isDead ? "died_at" : "ended_at" }

  /// The column whose index is used, and the value there; an empty text has one where none is.
  private var lead: (column: String, value: String) {
    guard isDead else { return ("state", filter.state?.rawValue ?? "") }
    if let kind = filter.kind { return ("kind", kind) }
    if let queue = filter.queue { return ("queue", queue) }
    return ("''", "")
  }

  func page() async throws -> JobPage {
    let start =
      try filter.before.map { text throws(OperationError) in try Place(text) }
      ?? Place(at: filter.until ?? .distantFuture, id: JobID(high: 0, low: 0))
    let (found, edge) = try await pool.transaction { transaction in
      // The index that has the order is to be used: of bounds that a prepared statement does not know yet the planner
      // thinks too little, and would rather sort all there is.
      try await transaction.pipeline([
        "SET LOCAL plan_cache_mode = force_custom_plan", "SET LOCAL enable_sort = off",
        "SET LOCAL enable_bitmapscan = off",
      ])
      let edge = try await self.edge(from: start, transaction)
      return (try await self.look(from: start, to: edge, transaction), edge)
    }
    let items = found.prefix(filter.limit).map(\.job)
    if found.count > filter.limit, let last = items.last, let id = JobID(last.id) {
      return JobPage(items: items, next: Place(at: found[items.count - 1].at, id: id).cursor, searched: nil)
    }
    return JobPage(items: items, next: edge?.cursor, searched: edge.map { _ in PendingListing.budget })
  }

  /// Whether more is asked for than the index leads to.
  private var isFiltered: Bool {
    let (byKind, byQueue) = (filter.kind != nil, filter.queue != nil)
    return filter.text != nil || (isDead ? byKind && byQueue : byKind || byQueue)
  }

  /// The last row that the page looks at; nil if there are not so many, or if all fit.
  private func edge(from start: Place, _ transaction: PostgresTransaction) async throws -> Place? {
    if !isFiltered { return nil }
    let rows = try await transaction.query(
      """
      SELECT \(unescaped: time), id FROM \(unescaped: table) WHERE \(near: self, from: start)
      ORDER BY \(unescaped: time) DESC, id DESC OFFSET \(PendingListing.budget - 1) LIMIT 1
      """)
    guard let (at, id) = try rows.decode(Date.self, PostgresUUID.self).first else { return nil }
    return Place(at: at, id: JobID(id))
  }

  /// The first that fit, one more than a page has, among those that a page looks at.
  private func look(
    from start: Place, to edge: Place?, _ transaction: PostgresTransaction
  ) async throws -> [(job: JobSummary, at: Date)] {
    let (kind, queue, search) = (filter.kind, filter.queue, PayloadSearch(filter))
    let end = edge ?? Place(at: .distantPast, id: JobID(high: 0, low: 0))
    var found: [(job: JobSummary, at: Date)] = []
    var (place, limit) = (start, filter.limit + 1)
    while true {
      let rows = try await transaction.query(
        """
        SELECT \(unescaped: isDead ? JobRow.dead : JobRow.ended), \(unescaped: time) AS place,
          \(unescaped: search.sought)
        FROM \(unescaped: table)\(unescaped: search.prepared)
        WHERE \(near: self, from: place) AND (\(unescaped: time), id) >= (\(end.at), \(PostgresUUID(end.id)))
          AND (\(kind) IS NULL OR kind = \(kind)) AND (\(queue) IS NULL OR queue = \(queue)) AND \(search)
        ORDER BY \(unescaped: time) DESC, id DESC LIMIT \(limit)
        """)
      for row in rows where found.count <= filter.limit {
        guard try await search.isFound(row, in: table, { try await transaction.query($0) }) else { continue }
        found.append((try JobRow.summary(row), try row.decode(Date.self, named: "place")))
      }
      guard found.count <= filter.limit, rows.count == limit, let last = rows.last else { return found }
      place = Place(
        at: try last.decode(Date.self, named: "place"), id: JobID(try last.decode(PostgresUUID.self, named: "id")))
      limit = PayloadSearch.batch
    }
  }

  fileprivate func near(from start: Place, _ query: inout PostgresQuery.StringInterpolation) {
    let (column, value) = lead
    query.appendLiteral("\(column) = ")
    query.appendInterpolation(value)
    query.appendLiteral(" AND (\(time), id) < (")
    query.appendInterpolation(start.at)
    query.appendLiteral(", ")
    query.appendInterpolation(PostgresUUID(start.id))
    query.appendLiteral(") AND \(time) >= ")
    query.appendInterpolation(filter.since ?? .distantPast)
  }
}

extension PostgresQuery.StringInterpolation {
  fileprivate mutating func appendInterpolation(near listing: FinishedListing, from start: FinishedListing.Place) {
    listing.near(from: start, &self)
  }
}
