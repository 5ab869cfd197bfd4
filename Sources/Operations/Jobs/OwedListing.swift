import Foundation
import Jobs
import JobsPostgres
import Postgres

/// Puts a page of owed jobs together: a look into each queue, the newest first, merged by id.
///
/// What a partial index holds (delayed, retrying and parked jobs) is found at once. Another filter looks at a bounded number of
/// rows, however many there are, and the page then says where to go on.
struct OwedListing {
  let filter: JobFilter
  let pool: PostgresPool

  /// How many rows a page looks at, where no index leads to those that fit.
  static let budget = 10_000

  /// What a look into one queue found.
  private struct Look {
    var found: [JobSummary] = []
    /// Down to this id everything that fits has been found; nil for all there is.
    var horizon: JobID?
    var searched = 0
  }

  func page() async throws -> JobPage {
    let before = try filter.before.map { try JobDesk.parse($0, "a page's `next`") } ?? bound(filter.until)
    let since = filter.since.map(bound) ?? JobID(high: 0, low: 0)
    let running = try await RunningJobs.read(pool)
    if filter.state == .running { return try await running.page(filter, before: before, since: since, on: pool) }
    let queues = try await queues()
    let share = max(1000, Self.budget / max(1, queues.count))
    let looks = try await look(into: queues, before: before, since: since, share: share, running)
    let horizon = looks.compactMap(\.horizon).max()
    let complete = looks.flatMap(\.found).filter { summary in
      guard let horizon, let id = JobID(summary.id) else { return true }
      return id >= horizon
    }.sorted { $0.id > $1.id }
    let items = Array(complete.prefix(filter.limit))
    if items.count == filter.limit, complete.count > items.count || horizon != nil {
      return JobPage(items: items, next: items.last?.id, searched: nil)
    }
    return JobPage(
      items: items, next: horizon?.description, searched: horizon == nil ? nil : looks.reduce(0) { $0 + $1.searched })
  }

  /// The greatest id that cannot have been made before a moment.
  private func bound(_ moment: Date?) -> JobID {
    moment.map { JobID.least(at: Int64($0.timeIntervalSince1970 * 1000)) } ?? JobID(high: .max, low: .max)
  }

  private func queues() async throws -> [String] {
    if let queue = filter.queue { return [queue] }
    return try await pool.query(LedgerQueues.query).decode(String.self)
  }

  private func look(
    into queues: [String], before: JobID, since: JobID, share: Int, _ running: RunningJobs
  ) async throws -> [Look] {
    if queues.isEmpty { return [] }
    let notThese = filter.state == .waiting ? running.ids : []
    let (indexed, rest) = conditions
    let (kind, search) = (filter.kind, PayloadSearch(filter))
    func stretch(of queue: String, before: JobID, rows: Int, limit: Int) -> PostgresQuery {
      """
      SELECT \(unescaped: JobRow.owed), n, \(unescaped: search.sought) FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS n\(unescaped: search.prepared) FROM (
          SELECT * FROM jobs
          WHERE queue = \(queue) AND id < \(PostgresUUID(before)) AND id >= \(PostgresUUID(since)) \(unescaped: indexed)
          ORDER BY id DESC LIMIT \(rows)) AS near) AS jobs
      WHERE \(unescaped: rest) AND NOT (id = ANY(\(notThese))) AND (\(kind) IS NULL OR kind = \(kind)) AND \(search)
      ORDER BY id DESC LIMIT \(limit)
      """
    }
    let answers = try await pool.pipeline(
      queues.map { stretch(of: $0, before: before, rows: share, limit: filter.limit + 1) })
    var looks: [Look] = []
    for (queue, answer) in zip(queues, answers) {
      var look = Look()
      var (rows, limit, left) = (answer, filter.limit + 1, share)
      while true {
        for row in rows where try look.found.count <= filter.limit && search.isFound(row) {
          look.found.append(try JobRow.summary(row, running: running))
          look.searched = share - left + (try row.decode(Int.self, named: "n"))
        }
        guard look.found.count <= filter.limit, rows.count == limit, let last = rows.last else { break }
        left -= try last.decode(Int.self, named: "n")
        let id = JobID(try last.decode(PostgresUUID.self, named: "id"))
        limit = PayloadSearch.batch
        rows = try await pool.query(stretch(of: queue, before: id, rows: left, limit: limit))
      }
      if look.found.count > filter.limit, let last = look.found.last {
        look.horizon = JobID(last.id)
      } else {
        (look.horizon, look.searched) = try await edge(
          of: queue, before: before, since: since, indexed: indexed, share: share)
      }
      looks.append(look)
    }
    return looks
  }

  /// Where a look ended that did not find enough.
  private func edge(
    of queue: String, before: JobID, since: JobID, indexed: String, share: Int
  ) async throws -> (JobID?, Int) {
    let row = try await pool.query(
      """
      SELECT count(*), (array_agg(id ORDER BY id))[1] FROM (
        SELECT id FROM jobs WHERE queue = \(queue) AND id < \(PostgresUUID(before)) AND id >= \(PostgresUUID(since))
          \(unescaped: indexed)
        ORDER BY id DESC LIMIT \(share)) AS near
      """)[0]
    let (count, last) = try row.decode(Int.self, PostgresUUID?.self)
    return (count == share ? last.map { JobID($0) } : nil, count)
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

/// The queues in which something is owed, found without looking at every row: the key leads with the queue, and this steps from
/// one to the next.
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
