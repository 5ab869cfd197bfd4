import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Puts a page of pending jobs together: a look into each queue, the newest first, merged by id.
///
/// What a partial index holds (delayed, retrying and parked jobs) is found at once. Another filter looks at a bounded
/// number of rows, however many there are, and the page then says where to go on.
struct PendingListing {
  let filter: JobFilter
  let pool: PostgresPool

  /// How many rows a page looks at, where no index leads to those that fit.
  static let budget = 10_000

  /// The part of a queue that a page looks at, from its end down.
  private struct Stretch {
    let queue: String
    /// Its last row, where there are further ones behind it.
    let edge: JobID?
  }

  /// What a look at a stretch found.
  private struct Look {
    var stretch: Stretch
    var found: [JobSummary] = []
    /// Down to this id everything that fits has been found; nil for all there is.
    var horizon: JobID?
  }

  func page() async throws -> JobPage {
    let before = try filter.before.map { try JobAdmin.parse($0, "a page's `next`") } ?? bound(filter.until)
    let since = filter.since.map(bound) ?? JobID(high: 0, low: 0)
    let running = try await RunningJobs.read(pool)
    if filter.state == .running { return try await running.page(filter, before: before, since: since, on: pool) }
    let queues = try await queues()
    let share = max(1000, Self.budget / max(1, queues.count))
    let stretches = try await stretches(of: queues, before: before, since: since, rows: share)
    let looks = try await look(at: stretches, before: before, since: since, running)
    let horizon = looks.compactMap(\.horizon).max()
    let complete = looks.flatMap(\.found).filter { summary in
      guard let horizon, let id = JobID(summary.id) else { return true }
      return id >= horizon
    }.sorted { $0.id > $1.id }
    let items = Array(complete.prefix(filter.limit))
    if items.count == filter.limit, complete.count > items.count || horizon != nil {
      return JobPage(items: items, next: items.last?.id, searched: nil)
    }
    guard let horizon else { return JobPage(items: items, next: nil, searched: nil) }
    return JobPage(
      items: items, next: horizon.description,
      searched: try await searched(looks, before: before, since: since, share: share))
  }

  /// The greatest id that cannot have been made before a moment.
  private func bound(_ moment: Date?) -> JobID {
    moment.map { JobID.min(at: Int64($0.timeIntervalSince1970 * 1000)) } ?? JobID(high: .max, low: .max)
  }

  private func queues() async throws -> [String] {
    if let queue = filter.queue { return [queue] }
    return try await pool.query(LedgerQueues.query).decode(String.self)
  }

  private func stretches(
    of queues: [String], before: JobID, since: JobID, rows: Int
  ) async throws -> [Stretch] {
    // Where every row fits a page is full before it has looked at many.
    let isFiltered = filter.state != nil || filter.kind != nil || filter.text != nil
    if queues.isEmpty || !isFiltered { return queues.map { Stretch(queue: $0, edge: nil) } }
    let edges = try await pool.pipeline(
      queues.map { queue -> PostgresQuery in
        """
        SELECT id FROM jobs WHERE \(pending: queue, before, since, conditions.indexed)
        ORDER BY id DESC OFFSET \(rows - 1) LIMIT 1
        """
      })
    return try zip(queues, edges).map { queue, edge in
      Stretch(queue: queue, edge: try edge.decode(PostgresUUID.self).first.map { JobID($0) })
    }
  }

  private func look(
    at stretches: [Stretch], before: JobID, since: JobID, _ running: RunningJobs
  ) async throws -> [Look] {
    if stretches.isEmpty { return [] }
    let notThese = filter.state == .waiting ? running.ids : []
    let (indexed, rest) = conditions
    let (kind, search) = (filter.kind, PayloadSearch(filter))
    func query(_ stretch: Stretch, before: JobID, limit: Int) -> PostgresQuery {
      """
      SELECT \(unescaped: JobRow.pending), \(unescaped: search.sought) FROM jobs\(unescaped: search.prepared)
      WHERE \(pending: stretch.queue, before, stretch.edge ?? since, indexed)
        AND \(unescaped: rest) AND NOT (id = ANY(\(notThese))) AND (\(kind) IS NULL OR kind = \(kind)) AND \(search)
      ORDER BY id DESC LIMIT \(limit)
      """
    }
    let answers = try await pool.pipeline(stretches.map { query($0, before: before, limit: filter.limit + 1) })
    var looks: [Look] = []
    for (stretch, answer) in zip(stretches, answers) {
      var look = Look(stretch: stretch, horizon: stretch.edge)
      var (rows, limit) = (answer, filter.limit + 1)
      while true {
        for row in rows where look.found.count <= filter.limit {
          guard try await search.isFound(row, in: "jobs", { try await pool.query($0) }) else { continue }
          look.found.append(try JobRow.summary(row, running: running))
        }
        guard look.found.count <= filter.limit, rows.count == limit, let last = rows.last else { break }
        limit = PayloadSearch.batch
        let id = JobID(try last.decode(PostgresUUID.self, named: "id"))
        rows = try await pool.query(query(stretch, before: id, limit: limit))
      }
      if look.found.count > filter.limit, let last = look.found.last { look.horizon = JobID(last.id) }
      looks.append(look)
    }
    return looks
  }

  /// How many jobs a page has looked at that is not full.
  private func searched(_ looks: [Look], before: JobID, since: JobID, share: Int) async throws -> Int {
    let whole = looks.filter { $0.horizon != nil && $0.horizon == $0.stretch.edge }
    let others = looks.filter { $0.horizon == nil || $0.horizon != $0.stretch.edge }
    if others.isEmpty { return whole.count * share }
    let counts = try await pool.pipeline(
      others.map { look -> PostgresQuery in
        "SELECT count(*) FROM jobs WHERE \(pending: look.stretch.queue, before, look.horizon ?? since, conditions.indexed)"
      })
    return try whole.count * share + counts.reduce(0) { $0 + (try $1.decode(Int.self).first ?? 0) }
  }

  /// What the look's index says of a state, and what is left to be looked at row by row.
  private var conditions: (indexed: String, rest: String) {
    switch filter.state {
    case .parked: ("AND parked", "true")
    case .retrying: ("AND failures IS NOT NULL", "NOT parked AND run_at > now()")
    case .delayed: ("AND run_at IS NOT NULL", "NOT parked AND run_at > now() AND failures IS NULL")
    case .waiting: ("", "NOT parked AND (run_at IS NULL OR run_at <= now())")
    default: ("", "true")
    }
  }
}

extension PostgresQuery.StringInterpolation {
  /// Which of a queue's jobs: below one id, from another one on, and in a partial index.
  fileprivate mutating func appendInterpolation(
    pending queue: String, _ before: JobID, _ from: JobID, _ indexed: String
  ) {
    appendLiteral("queue = ")
    appendInterpolation(queue)
    appendLiteral(" AND id < ")
    appendInterpolation(PostgresUUID(before))
    appendLiteral(" AND id >= ")
    appendInterpolation(PostgresUUID(from))
    appendLiteral(" " + indexed)
  }
}

/// The queues in which something is pending, found without looking at every row: the key leads with the queue, and this
/// steps from one to the next.
enum LedgerQueues {
  /// A statement's beginning, which gives it the table `queues (name)`; its last name is null.
  static let table = """
    WITH RECURSIVE queues AS (
      (SELECT queue AS name FROM jobs ORDER BY queue LIMIT 1)
      UNION ALL
      SELECT (SELECT queue FROM jobs WHERE queue > name ORDER BY queue LIMIT 1) FROM queues WHERE name IS NOT NULL
    )
    """

  static let query: PostgresQuery = "\(unescaped: table) SELECT name FROM queues WHERE name IS NOT NULL"
}
