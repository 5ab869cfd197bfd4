import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import LibPQClient
import PrivateServers
import Testing

@testable import DurableJobsPostgres

@Suite(.timeLimit(.minutes(3))) struct JobsSchemaTests {
  static let oddName = "Jobs \"beside\" others"

  @Test func aSchemaOfAnyNameIsMadeOnceAndServes() async throws {
    try await TestDatabase.empty { pool in
      try await pool.execute("CREATE TABLE jobs (id bigint)")
      #expect(try await JobsSchema.status(pool, schema: Self.oddName).map(\.appliedAt) == [nil, nil, nil])
      #expect(try await JobsSchema.migrate(pool, schema: Self.oddName).map(\.number) == [1, 2, 3])
      #expect(try await JobsSchema.migrate(pool, schema: Self.oddName).isEmpty)
      #expect(try await JobsSchema.status(pool, schema: Self.oddName).allSatisfy { $0.appliedAt != nil })

      let database = JobsDatabase(pool: pool, schema: JobsSchema(Self.oddName))
      let ledger = PostgresLedger(database)
      let job = JobRecord.test(queue: "odd")
      try await pool.transaction { _ = try await ledger.add([job], in: $0) }
      #expect(try await ledger.pending([job.id], queue: "odd") == [job.id])
      #expect(try await ledger.complete([job.id], queue: "odd").isEmpty)
      #expect(try await ledger.pending([job.id], queue: "odd").isEmpty)
      #expect(try await pool.count("SELECT count(*) FROM jobs") == 0)
    }
  }

  @Test func tablesOfOthersStayAsTheyAre() async throws {
    try await TestDatabase.empty { pool in
      try await pool.execute("CREATE TABLE jobs (id bigint, queue text, kind text, payload text)")
      try await pool.execute("CREATE VIEW workers AS SELECT 1 AS name")
      let before = try await pool.catalog("public")
      try await JobsSchema.migrate(pool)
      #expect(try await pool.catalog("public") == before)
    }
  }

  @Test func goingBackAVersionKeepsJobsAndRecords() async throws {
    try await TestDatabase.empty { pool in
      let ledger = PostgresLedger(pool: pool)
      try await JobsSchema.migrate(pool)
      let after = try await pool.catalog("jobs")
      let (pending, discarded) = (JobRecord.test(), JobRecord.test())
      try await pool.transaction { _ = try await ledger.add([pending, discarded], in: $0) }
      let failure = JobFailure(attempt: 1, at: .init(unixMilliseconds: 1), error: "unwanted", worker: "w")
      try await ledger.discard([DeadJob(record: discarded, attempts: 1, failure: failure)])
      #expect(try await JobsSchema.rollBack(pool, to: 1).map(\.number) == [3, 2])
      #expect(try await JobsSchema.rollBack(pool, to: 0).isEmpty)
      #expect(try await pool.count("SELECT count(*) FROM jobs.jobs") == 1)
      #expect(try await pool.count("SELECT count(*) FROM jobs.ended_jobs WHERE state = 'deleted'") == 1)
      #expect(try await JobsSchema.status(pool).map { $0.appliedAt != nil } == [true, false, false])
      #expect(try await JobsSchema.migrate(pool).map(\.number) == [2, 3])
      #expect(try await pool.catalog("jobs") == after)
      #expect(try await ledger.pending([pending.id], queue: .default) == [pending.id])
    }
  }

  @Test func twoQueuesLiveInOneDatabase() async throws {
    try await TestDatabase.empty { pool in
      try await JobsSchema.migrate(pool)
      try await JobsSchema.migrate(pool, schema: "mail")
      #expect(try await pool.catalog("jobs") == pool.catalog("mail"))
      let (jobs, mail) = (PostgresLedger(pool: pool), PostgresLedger(pool: pool, schema: JobsSchema("mail")))
      let job = JobRecord.test(queue: "shared")
      try await pool.transaction { _ = try await jobs.add([job], in: $0) }
      #expect(try await mail.pending([job.id], queue: "shared").isEmpty)
      // Each has its own leader.
      try await jobs.lead("watch") {
        try await mail.lead("watch") {}
      }
    }
  }

  @Test func migratorsTakeTurns() async throws {
    try await TestDatabase.empty { pool in
      let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
        for _ in 0..<4 { group.addTask { try await JobsSchema.migrate(pool).map(\.number) } }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      // They take turns version by version, and may end in any order.
      #expect(applied.sorted() == JobsSchemaVersion.all.map(\.number))
    }
  }

  @Test func aNewerAndAChangedSchemaAreRefused() async throws {
    try await TestDatabase.empty { pool in
      let schema = JobsSchema.standard
      #expect(try await code { try await schema.check(pool) } == .behind)
      try await JobsSchema.migrate(pool)
      try await schema.check(pool)
      try await pool.execute("INSERT INTO \(schema.versions) (version, hash) VALUES (99, 'x')")
      let error = await #expect(throws: JobsSchemaError.self) { try await JobsSchema.migrate(pool) }
      #expect(error?.code == .newer)
      #expect(error?.message.contains("version 99") == true)
      #expect(try await code { _ = try await JobsSchema.status(pool) } == .newer)
      // It works all the same.
      try await schema.check(pool)
      try await pool.pipeline([
        "DELETE FROM \(schema.versions) WHERE version = 99", "UPDATE \(schema.versions) SET hash = 'x'",
      ])
      #expect(try await code { try await JobsSchema.migrate(pool) } == .changed)
    }
  }

  @Test func laterVersionsComeOneByOneAndAFailedOneLeavesNothing() async throws {
    try await TestDatabase.empty { pool in
      func migrator(_ more: JobsSchemaVersion...) -> JobsSchemaMigrator {
        JobsSchemaMigrator(pool: pool, schema: JobsSchema("q"), versions: JobsSchemaVersion.all + more)
      }
      let next = JobsSchema.newest + 1
      let second = JobsSchemaVersion(number: next, name: "note", sql: "ALTER TABLE jobs ADD COLUMN note text")
      let broken = JobsSchemaVersion(number: next + 1, name: "broken", sql: "CREATE TABLE half (); SELECT 1 / 0")
      let applied = try await migrator(second).up(patience: .seconds(10))
      #expect(applied.map(\.number) == Array(1...next))
      let error = await #expect(throws: JobsSchemaError.self) {
        try await migrator(second, broken).up(patience: .seconds(10))
      }
      #expect(error?.code == .refused)
      #expect(error?.message.contains("version \(next + 1)") == true)
      let isGone = try await pool.query("SELECT to_regclass('q.half') IS NULL")[0].decode(Bool.self)
      #expect(isGone)
      let status = try await migrator(second).status()
      #expect(status.count == next && status.allSatisfy { $0.appliedAt != nil })
    }
  }

  @Test func aRoleThatOwnsNothingButItsSchemaCanMigrateAndWork() async throws {
    let url = try await SharedServers.freshDatabase()
    try await TestDatabase.withPool(url) { pool in
      try await pool.execute(
        """
        DO $$ BEGIN CREATE ROLE queue_owner LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$
        """)
      // Without the right to create schemas, the schema must exist.
      try await pool.execute("CREATE SCHEMA jobs AUTHORIZATION queue_owner")
    }
    try await TestDatabase.withPool(url, user: "queue_owner") { pool in
      let error = await #expect(throws: JobsSchemaError.self) { try await JobsSchema.migrate(pool, schema: "more") }
      #expect(error?.cause?.sqlState == "42501")
      try await JobsSchema.migrate(pool)
      let ledger = PostgresLedger(pool: pool)
      let job = JobRecord.test(queue: "own")
      try await pool.transaction { _ = try await ledger.add([job], in: $0) }
      #expect(try await ledger.complete([job.id], queue: "own").isEmpty)
    }
  }
}

func code(_ body: () async throws -> Void) async throws -> JobsSchemaError.Code? {
  do {
    try await body()
    return nil
  } catch let error as JobsSchemaError {
    return error.code
  }
}

extension JobsSchema {
  func check(_ pool: PostgresPool) async throws {
    try await check { query throws(PostgresError) in try await pool.query(query) }
  }
}
