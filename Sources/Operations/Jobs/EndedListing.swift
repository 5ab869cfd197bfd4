import Foundation
import Jobs
import JobsPostgres
import Postgres

/// Puts a page of dead or ended jobs together, the last to die or end first.
///
/// A kind, else a queue, leads to its own index of the dead. Other filters look at a bounded number of rows, however many there are,
/// and the page then says where to go on.
struct EndedListing {
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
    let found = try await look(from: start)
    let items = found.prefix(filter.limit).map(\.job)
    if found.count > filter.limit, let last = items.last, let id = JobID(last.id) {
      return JobPage(items: items, next: Place(at: found[items.count - 1].at, id: id).cursor, searched: nil)
    }
    let edge = try await inOrder(
      """
      SELECT \(unescaped: time), id, n FROM (
        SELECT \(unescaped: time), id, row_number() OVER (ORDER BY \(unescaped: time) DESC, id DESC) AS n
        FROM \(unescaped: table) WHERE \(near: self, from: start)
        ORDER BY \(unescaped: time) DESC, id DESC LIMIT \(OwedListing.budget)) AS near
      WHERE n = \(OwedListing.budget)
      """
    ).first
    guard let edge else { return JobPage(items: items, next: nil, searched: nil) }
    let (at, id, searched) = try edge.decode(Date.self, PostgresUUID.self, Int.self)
    return JobPage(items: items, next: Place(at: at, id: JobID(id)).cursor, searched: searched)
  }

  /// The first that fit, one more than a page has, among those that a page looks at.
  private func look(from start: Place) async throws -> [(job: JobSummary, at: Date)] {
    let (kind, queue, search) = (filter.kind, filter.queue, PayloadSearch(filter))
    var found: [(job: JobSummary, at: Date)] = []
    var (place, limit, left) = (start, filter.limit + 1, OwedListing.budget)
    while true {
      let rows = try await inOrder(
        """
        SELECT \(unescaped: isDead ? JobRow.dead : JobRow.ended), n, \(unescaped: time) AS place,
          \(unescaped: search.sought) FROM (
          SELECT *, row_number() OVER (ORDER BY \(unescaped: time) DESC, id DESC) AS n\(unescaped: search.prepared) FROM (
            SELECT * FROM \(unescaped: table) WHERE \(near: self, from: place)
            ORDER BY \(unescaped: time) DESC, id DESC LIMIT \(left)) AS near) AS looked
        WHERE (\(kind) IS NULL OR kind = \(kind)) AND (\(queue) IS NULL OR queue = \(queue)) AND \(search)
        ORDER BY \(unescaped: time) DESC, id DESC LIMIT \(limit)
        """)
      for row in rows where try found.count <= filter.limit && search.isFound(row) {
        found.append((try JobRow.summary(row), try row.decode(Date.self, named: "place")))
      }
      guard found.count <= filter.limit, rows.count == limit, let last = rows.last else { return found }
      left -= try last.decode(Int.self, named: "n")
      place = Place(
        at: try last.decode(Date.self, named: "place"), id: JobID(try last.decode(PostgresUUID.self, named: "id")))
      limit = PayloadSearch.batch
    }
  }

  /// Asks with the index that has the order. Of bounds that a prepared statement does not know yet the planner thinks too little: it
  /// would rather sort all there is.
  private func inOrder(_ query: PostgresQuery) async throws -> PostgresRows {
    try await pool.transaction { transaction in
      try await transaction.pipeline(["SET LOCAL enable_sort = off", "SET LOCAL enable_bitmapscan = off", query])[2]
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
  fileprivate mutating func appendInterpolation(near listing: EndedListing, from start: EndedListing.Place) {
    listing.near(from: start, &self)
  }
}
