import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import LibPQClient
import Locking
import Migrations
import PrivateServers
import Testing
import TestSupport

@testable import DurableJobsPostgres

/// A database of the version before the queue had a schema is upgraded in place.
@Suite(.timeLimit(.minutes(3))) struct FormerTablesTests {
  /// The schema of the last version's tables, and of the views after the upgrade.
  static let former = JobsSchema("public")
  /// Columns that later versions of the schema have added.
  static let added = ["trace_span", "trace_sampled", "max_attempts", "timeout_ms", "run_histogram", "wait_histogram"]

  @Test func anUpgradedSchemaIsWhatAFreshOneIs() async throws {
    let fresh = try await TestDatabase.empty { pool in
      try await JobsSchema.migrate(pool)
      return try await pool.catalog("jobs")
    }
    #expect(fresh.count > 150)
    try await TestDatabase.former { pool in
      let before = try await pool.catalog("public")
      try await JobsSchema.migrate(pool)
      #expect(try await pool.catalog("jobs") == fresh)
      // Down and up again, with the app's migrations.
      let migrator = DatabaseMigrator(try TestDatabase.migrations(), pool: pool)
      let later = migrator.later
      try await migrator.up()
      #expect(try await migrator.down(later).count == later)
      #expect(try await pool.catalog("public") == before)
      #expect(try await pool.catalog("jobs").isEmpty)
      #expect(try await migrator.up().count == later + JobsSchema.newest)
      #expect(try await pool.catalog("jobs") == fresh)
    }
    try await TestDatabase.empty { pool in
      try await DatabaseMigrator(try TestDatabase.migrations(), pool: pool).up()
      #expect(try await pool.catalog("jobs") == fresh)
    }
  }

  @Test func everyRowIsThereAfterwardsAndUnderItsOldName() async throws {
    try await TestDatabase.former { pool in
      try await fill(pool)
      func rows(_ schema: String) async throws -> [String] {
        var rows: [String] = []
        for name in FormerTables.names {
          rows += try await pool.query(
            "SELECT \(name) || (to_jsonb(t) - \(Self.added))::text FROM \(PostgresIdentifier(name, in: schema)) t ORDER BY 1"
          ).decode(String.self)
        }
        return rows
      }
      let before = try await rows("public")
      let tables = try await pool.count(
        "SELECT count(DISTINCT split_part(line, '{', 1)) FROM unnest(\(before)) AS line")
      #expect(tables == FormerTables.names.count, "a table is empty, so nothing is seen of it")
      try await JobsSchema.migrate(pool)
      #expect(try await rows("jobs") == before)
      #expect(try await rows("public") == before)
      // The action counter continues.
      let last = try await pool.count("SELECT max(id) FROM jobs.actions")
      try await pool.execute("INSERT INTO actions (actor, role, action, subject) VALUES ('a', 'full', 'x', 'y')")
      #expect(try await pool.count("SELECT max(id) FROM jobs.actions") == last + 1)
    }
  }

  @Test func underLoadNothingIsLostAndNothingDoneTwice() async throws {
    try await TestDatabase.former(connections: 12) { pool in
      try await pool.execute("CREATE TABLE asked (id uuid PRIMARY KEY)")
      try await pool.execute("CREATE TABLE done (id uuid PRIMARY KEY)")
      let (old, new) = (FormerLedger(pool: pool), PostgresLedger(pool: pool))
      let (isOver, isAllAsked) = (Locked(false), Locked(false))
      // The last version's programs run before and after; this version's start with the upgrade.
      try await withThrowingTaskGroup(of: Void.self) { work in
        try await withThrowingTaskGroup(of: Void.self) { asking in
          for _ in 0..<2 { asking.addTask { try await ask(old, until: isOver) } }
          for _ in 0..<2 { work.addTask { try await complete(old, until: isAllAsked) } }
          try await eventually("jobs come and go") { try await pool.count("SELECT count(*) FROM done") > 100 }
          try await JobsSchema.migrate(pool)
          asking.addTask { try await ask(new, until: isOver) }
          work.addTask { try await complete(new, until: isAllAsked) }
          let then = try await pool.count("SELECT count(*) FROM done")
          try await eventually("both versions go on") { try await pool.count("SELECT count(*) FROM done") > then + 300 }
          isOver.withLock { $0 = true }
          try await asking.waitForAll()
          isAllAsked.withLock { $0 = true }
        }
        try await work.waitForAll()
      }
      let (asked, done) = (
        try await pool.count("SELECT count(*) FROM asked"), try await pool.count("SELECT count(*) FROM done")
      )
      #expect(asked == done)
      #expect(try await pool.count("SELECT count(*) FROM asked JOIN done USING (id)") == asked)
      #expect(try await pool.count("SELECT count(*) FROM jobs.jobs") == 0)
    }
  }

  @Test func whatOneVersionAsksForTheOtherDoes() async throws {
    try await TestDatabase.former { pool in
      try await JobsSchema.migrate(pool)
      func exchange<Asks: Ledger, Does: Ledger>(_ asks: Asks, _ does: Does) async throws
      where Asks.Transaction == PostgresTransaction, Does.Transaction == PostgresTransaction {
        let jobs = [JobRecord.test(), .test(uniqueKey: "once"), .test(), .test(runAt: 1)]
        let twin = JobRecord.test(uniqueKey: "once")
        try await pool.transaction { _ = try await asks.add(jobs, in: $0) }
        #expect(try await pool.transaction { try await does.add([twin], in: $0) }.isEmpty, "one of a key is pending")
        #expect(try await does.records(jobs.map(\.id), queue: .default).count == jobs.count)
        let failure = JobFailure(attempt: 1, at: .init(unixMilliseconds: 1), error: "no", worker: "w")
        #expect(
          try await does.recordFailures(
            [FailedJob(id: jobs[0].id, failure: failure, runAt: .init(unixMilliseconds: 2))], queue: .default
          )
          .isEmpty)
        #expect(try await asks.deadLetter([DeadJob(record: jobs[1], attempts: 2, failure: failure)]).isEmpty)
        #expect(try await does.cancel([jobs[2].id], queue: .default).isEmpty)
        #expect(try await does.complete([jobs[0].id, jobs[3].id], queue: .default).isEmpty)
      }
      let (old, new) = (FormerLedger(pool: pool), PostgresLedger(pool: pool))
      try await exchange(old, new)
      try await exchange(new, old)
      #expect(try await pool.count("SELECT count(*) FROM jobs.jobs") == 0)
      #expect(try await pool.count("SELECT count(*) FROM dead_jobs") == 2)
      #expect(try await pool.count("SELECT count(*) FROM ended_jobs WHERE state = 'done'") == 2)
      #expect(try await pool.count("SELECT count(*) FROM jobs.ended_jobs WHERE state = 'cancelled'") == 2)
    }
  }

  // MARK: What keeps it from happening

  @Test func aTableThatOthersHoldIsWaitedForAndNobodyElseMeanwhile() async throws {
    try await TestDatabase.former { pool in
      let ledger = FormerLedger(pool: pool)
      let holder = try await pool.dedicatedConnection()
      try await holder.execute("BEGIN")
      try await holder.execute("SELECT FROM ended_jobs")
      let error = await #expect(throws: JobsSchemaError.self) {
        try await JobsSchema.migrate(pool, patience: .milliseconds(300))
      }
      #expect(error?.code == .held)
      let session = try await holder.query("SELECT pg_backend_pid()")[0].decode(Int.self)
      #expect(error?.message.contains("session \(session)") == true)
      #expect(try await holder.query("SELECT to_regclass('jobs.jobs') IS NULL")[0].decode(Bool.self))

      // It is retried while others work, and succeeds once the table is free.
      try await withThrowingTaskGroup(of: Void.self) { group in
        let isDone = Locked(false)
        group.addTask {
          try await JobsSchema.migrate(pool)
          isDone.withLock { $0 = true }
        }
        try await eventually("it waits for the table") {
          try await pool.count(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'ended_jobs'::regclass")
            > 0
        }
        for _ in 0..<20 {
          let job = JobRecord.test()
          try await pool.transaction { _ = try await ledger.add([job], in: $0) }
        }
        #expect(!isDone.withLock { $0 })
        try await holder.execute("COMMIT")
        try await group.waitForAll()
      }
      await holder.close()
      #expect(try await pool.count("SELECT count(*) FROM jobs.jobs") == 20)
    }
  }

  @Test func anOlderQueueIsRefused() async throws {
    try await TestDatabase.empty { pool in
      try await TestDatabase.migrator(pool).up(to: 35)
      let error = await #expect(throws: JobsSchemaError.self) { try await JobsSchema.migrate(pool) }
      #expect(error?.code == .outdated)
      #expect(error?.message.contains("jobs.refusal") == true)
      #expect(try await pool.query("SELECT to_regnamespace('jobs') IS NULL")[0].decode(Bool.self))
      // The upgrade is part of the migrations.
      try await DatabaseMigrator(try TestDatabase.migrations(), pool: pool).up()
      try await JobsSchema.standard.check(pool)
    }
  }

  @Test func theRightsOfOtherRolesGoAlong() async throws {
    let url = try await TestDatabase.formerURL()
    try await TestDatabase.withPool(url) { pool in
      try await pool.execute(
        "DO $$ BEGIN CREATE ROLE queue_user LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
      for name in FormerTables.names {
        try await pool.execute(
          "GRANT SELECT, INSERT, UPDATE, DELETE ON \(PostgresIdentifier(name, in: "public")) TO queue_user")
      }
      try await JobsSchema.migrate(pool)
    }
    try await TestDatabase.withPool(url, user: "queue_user") { pool in
      try await JobsSchema.standard.check(pool)
      try await fill(pool)
      let ledgers: [any Ledger] = [FormerLedger(pool: pool), PostgresLedger(pool: pool)]
      for ledger in ledgers {
        let job = JobRecord.test()
        #expect(try await ledger.add(job) == [job.id])
        #expect(try await ledger.complete([job.id], queue: .default).isEmpty)
      }
    }
  }

  @Test func theAuditOfCountsReadsTheQueuesTables() async throws {
    try await TestDatabase.former { pool in
      func names() async throws -> [String] {
        try await pool.query(
          """
          SELECT name[1] FROM regexp_matches(pg_get_functiondef('expected_counts(date)'::regprocedure),
            'FROM ((jobs[.])?(dead_)?jobs) ', 'g') AS name
          """
        ).decode(String.self)
      }
      #expect(try await names() == ["jobs", "dead_jobs"])
      let migrator = DatabaseMigrator(try TestDatabase.migrations(), pool: pool)
      try await migrator.up()
      #expect(try await names() == ["jobs.jobs", "jobs.dead_jobs"])
      try await migrator.down(migrator.later)
      #expect(try await names() == ["jobs", "dead_jobs"])
    }
  }
}

// MARK: Work

/// Fills all tables, with jobs in all states, using the last version's statements.
private func fill(_ pool: PostgresPool) async throws {
  let ledger = FormerLedger(pool: pool)
  let jobs = (0..<12).map { JobRecord.test("{\"n\": \($0)}", runAt: $0 % 3 == 0 ? 4_000_000_000_000 : nil) }
  let failure = JobFailure(attempt: 1, at: .init(unixMilliseconds: 1_700_000_000_000), error: "no", worker: "w")
  try await pool.transaction { _ = try await ledger.add(jobs + [.test(uniqueKey: "once")], in: $0) }
  try await ledger.recordFailures(
    jobs[0..<4].map { FailedJob(id: $0.id, failure: failure, runAt: .init(unixMilliseconds: 4_000_000_000_000)) },
    queue: .default)
  try await ledger.complete([jobs[0].id], queue: .default)
  try await ledger.deadLetter([DeadJob(record: jobs[1], attempts: 2, failure: failure)])
  try await ledger.cancel([jobs[4].id], queue: .default)
  try await ledger.park([jobs[5]])
  try await ledger.refuse([jobs[6].id: "unreadable"], queue: .default)
  try await pool.transaction { try await ledger.base.orderToEnd([jobs[7].id], queue: .default, in: $0) }
  for statement: PostgresQuery in [
    """
    INSERT INTO workers (name, host, pid, version, started_at, state, queues, running)
    VALUES ('w', 'h', 1, '1', now(), 'running', '[]', '[]')
    """,
    "INSERT INTO queue_pauses (queue, paused_by) VALUES ('slow', 'ann')",
    "INSERT INTO job_minutes VALUES (now(), 'q', 'k', 1, 2, 3, 4, 5)",
    "INSERT INTO job_hours VALUES (now(), 'q', 'k', 1, 2, 3, 4, 5)",
    """
    INSERT INTO actions (actor, role, action, subject)
    SELECT 'a', 'full', 'jobs.cancel', n FROM generate_series(1, 7) n
    """,
    "INSERT INTO schedules (name, timing, kind, decided_until) VALUES ('s', 'every hour', 'k', now())",
    "INSERT INTO schedule_ticks (schedule, tick, job_id) VALUES ('s', now(), gen_random_uuid())",
    """
    INSERT INTO alarms VALUES (gen_random_uuid(), 'q', 'waiting', 1, 2, now(), NULL, false, false)
    """,
    "INSERT INTO stack_samples (sampled_at, sample) VALUES (now(), '{}')",
    "INSERT INTO process_clocks (process, program, host, ahead_ms) VALUES ('p', 'worker', 'h', 5)",
  ] {
    try await pool.execute(statement)
  }
}

/// Asks for jobs, one and several at a time, and keeps in the same transaction which.
private func ask(_ ledger: some PostgresTransactions, until isOver: Locked<Bool>) async throws {
  var size = 1
  while !isOver.withLock({ $0 }) {
    let jobs = (0..<size).map { _ in JobRecord.test() }
    try await ledger.withTransaction { transaction in
      _ = try await ledger.add(jobs, in: transaction)
      try await transaction.execute("INSERT INTO asked SELECT unnest(\(jobs.map { PostgresUUID($0.id) }))")
    }
    size = size % 5 + 1
    // Paced by the completions.
    try await eventually("not many wait") {
      try await ledger.pendingIDs(queue: .default, after: nil, before: .highest, limit: 200).count < 200
    }
  }
}

/// Completes jobs as a worker does, their effect in the same transaction, until none is asked for and none is left.
private func complete(_ ledger: some PostgresTransactions, until isAllAsked: Locked<Bool>) async throws {
  while true {
    let isLast = isAllAsked.withLock { $0 }
    let ids = try await ledger.pendingIDs(queue: .default, after: nil, before: .highest, limit: 10)
    if ids.isEmpty, isLast { return }
    guard let one = ids.randomElement() else { continue }
    try await ledger.withTransaction { transaction in
      let ended = try await ledger.complete([one], queue: .default, in: transaction).ended
      try await transaction.execute("INSERT INTO done SELECT unnest(\(ended.map { PostgresUUID($0) }))")
    }
  }
}

private protocol PostgresTransactions: Ledger where Transaction == PostgresTransaction {}
extension FormerLedger: PostgresTransactions {}
extension PostgresLedger: PostgresTransactions {}

extension JobID {
  fileprivate static let highest = JobID(high: .max, low: .max)
}

extension DatabaseMigrator {
  /// The number of migrations since the last version without a separate schema for the queue.
  fileprivate var later: Int { migrations.count { $0.number > TestDatabase.lastFormer } }
}
