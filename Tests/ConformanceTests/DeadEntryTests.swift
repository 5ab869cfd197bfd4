import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import JobsTestSupport
import LibPQClient
import TestSupport
import Testing

/// A long-lived snapshot keeps the index entries of finished jobs, and each range read walks over them.
@Suite(.timeLimit(.minutes(5))) struct DeadEntryTests {
  private struct Late: Job {
    static let kind: JobKind = "test.late"
    var number: Int
  }

  private static let dead = 200_000

  @Test func aHeldSnapshotDoesNotMakeEachSweepWalkEveryDeadEntry() async throws {
    try await PostgresLedgerFixture.with { fixture in
      try await fixture.pool.transaction(.snapshot) { snapshot in
        // From here on no deleted row can be cleaned up.
        _ = try await snapshot.query("SELECT count(*) FROM \(fixture.table("jobs"))")
        try await fixture.pool.execute(
          """
          INSERT INTO \(fixture.table("jobs")) (queue, id, kind, version, payload, created_at)
          SELECT 'default',
            (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
              || '70008000' || lpad(to_hex(i), 12, '0'))::uuid,
            'test.done', 1, '{}', at
          FROM generate_series(1, \(Self.dead)) i,
            LATERAL (SELECT now() - make_interval(secs => 5 + i * 0.002) AS at) times
          """, timeout: .seconds(60))
        try await fixture.pool.execute("DELETE FROM \(fixture.table("jobs"))", timeout: .seconds(60))

        let broker = InMemoryBroker()
        var registry = JobRegistry<PostgresLedger>()
        registry.register(Late.self) { _, _ in }
        var configuration = WorkerConfiguration(queues: [.default: 1])
        configuration.heartbeat = .milliseconds(50)
        configuration.relayInterval = .milliseconds(100)
        configuration.relayAge = .milliseconds(100)
        let worker = Worker(
          broker: broker, ledger: fixture.ledger, registry: registry, configuration: configuration, logger: .quiet)
        try await RunningWorker.run(worker) { _ in
          let before = try await Self.reads(fixture.pool)
          try await eventually("the relay has read a hundred times") {
            try await Self.reads(fixture.pool).scans - before.scans > 100
          }
          let after = try await Self.reads(fixture.pool)
          let (scans, entries) = (after.scans - before.scans, after.entries - before.entries)
          #expect(entries < scans * Self.dead / 4, "\(entries) entries in \(scans) reads")
          print("\(entries) index entries in \(scans) reads, of \(Self.dead) dead ones")
          // A job that was never pushed is found all the same, new or old.
          let record = try JobRecord(Late(number: 1), isDurable: true)
          var old = try JobRecord(Late(number: 2), isDurable: true)
          old.id = JobID(high: old.id.high - UInt64(200_000) << 16, low: old.id.low)
          _ = try await fixture.ledger.add(record, old)
          try await eventually("both are done") {
            try await fixture.ledger.pending([record.id, old.id], queue: .default).isEmpty
          }
        }
      }
    }
  }

  private static func reads(_ pool: PostgresPool) async throws -> (scans: Int, entries: Int) {
    try await pool.query("SELECT idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'jobs_pkey'")[0]
      .decode(Int.self, Int.self)
  }
}
