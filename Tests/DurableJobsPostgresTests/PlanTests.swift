import DurableJobs
import DurableJobsTesting
import Foundation
import LibPQClient
import Testing

@testable import DurableJobsPostgres

/// A table that was empty when the server made its plans, and is full when it uses them.
@Suite struct PlanTests {
  private static let jobs = 5000

  @Test(arguments: [1, 10])
  func aBatchReadsItsOwnRowsAlone(of count: Int) async throws {
    // One connection, whose plans are the ones to see.
    try await TestDatabase.empty(connections: 1) { pool in
      try await JobsSchema.migrate(pool)
      let ledger = PostgresLedger(pool: pool)
      let queue = QueueName.default
      func add(_ count: Int) async throws -> [JobID] {
        let records = (0..<count).map { _ in JobRecord.test() }
        return try await ledger.withTransaction { try await ledger.add(records, in: $0) }
      }
      /// Each statement of the ledger that takes ids, on jobs of its own.
      func runAll(_ ids: [JobID]) async throws {
        var left = ids[...]
        func take() -> [JobID] {
          defer { left = left.dropFirst(count) }
          return Array(left.prefix(count))
        }
        #expect(try await ledger.complete(take(), queue: queue).isEmpty)
        let done = take()
        let ended = try await ledger.withTransaction { try await ledger.complete(done, queue: queue, in: $0).ended }
        #expect(Set(ended) == Set(done))
        #expect(try await ledger.cancel(take(), queue: queue).isEmpty)
        let held = take()
        #expect(try await ledger.recordFailures(held.map { failed($0) }, queue: queue).isEmpty)
        let dates = Dictionary(uniqueKeysWithValues: held.map { ($0, Date()) })
        #expect(try await ledger.postpone(dates, queue: queue).isEmpty)
        try await ledger.refuse(dates.mapValues { _ in "no" }, queue: queue)
        #expect(try await ledger.pending(held, queue: queue).count == count)
        #expect(try await ledger.records(held, queue: queue).count == count)
        #expect(try await ledger.payloads(held, queue: queue).count == count)
        #expect(try await ledger.complete(held, queue: queue).isEmpty)
        let dead = try await ledger.records(take(), queue: queue)
        #expect(try await ledger.deadLetter(dead.map { DeadJob(record: $0, attempts: 1, failure: failure) }).isEmpty)
        let discarded = try await ledger.records(take(), queue: queue)
        #expect(try await ledger.discard(discarded.map { DeadJob(record: $0, attempts: 1, failure: failure) }).isEmpty)
        let parked = try await ledger.records(take(), queue: queue)
        #expect(try await ledger.park(parked).isEmpty)
        #expect(try await ledger.unpark(queue: queue, kinds: [JobRecord.test().kind: 1]) == count)
        #expect(try await ledger.complete(parked.map(\.id), queue: queue).isEmpty)
        let (first, last) = (JobID(high: 0, low: 0), JobID(high: .max, low: .max))
        _ = try await ledger.pendingIDs(queue: queue, after: first, before: last, limit: count)
        _ = try await ledger.newestPendingIDs(queue: queue, after: first, before: last, age: .zero, limit: count)
        _ = try await ledger.takeUnpushed(queue: queue, limit: count)
        let keyed = (0..<count).map { _ in JobRecord.test(uniqueKey: UUID().uuidString) }
        #expect(try await ledger.withTransaction { try await ledger.add(keyed, in: $0) }.count == count)
        #expect(try await ledger.complete(keyed.map(\.id), queue: queue).isEmpty)
      }
      // Plans are kept from the sixth use on. A vacuumed table without pages is read at once.
      for _ in 0..<8 { try await runAll(try await add(7 * count)) }
      try await pool.execute("VACUUM jobs.jobs")
      for _ in 0..<8 { try await runAll(try await add(7 * count)) }
      let ids = try await add(Self.jobs)
      let before = try await read(pool)
      try await runAll(ids)
      let rows = try await read(pool) - before
      #expect(rows < 100 * count, "\(rows) rows are read")
    }
  }

  private var failure: JobFailure { JobFailure(attempt: 1, at: .now, error: "broke", worker: "w") }

  private func failed(_ id: JobID) -> FailedJob { FailedJob(id: id, failure: failure, runAt: .now) }

  /// How many rows and entries of the table and its key have been read.
  private func read(_ pool: PostgresPool) async throws -> Int {
    try await pool.execute("SELECT pg_stat_force_next_flush()")
    return try await pool.count(
      """
      SELECT (SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relid = 'jobs.jobs'::regclass)
        + (SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'jobs_pkey')
      """)
  }
}
