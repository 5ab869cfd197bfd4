import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import JobsTestSupport
import LibPQClient
import ProgramTestSupport
import TestSupport
import Testing

@Suite("Workers and what they count", .timeLimit(.minutes(5)))
struct WorkerAdminTests {
  private func report(_ name: String, minutes: [JobMinute] = [], batch: Int64 = 0) -> WorkerReport {
    WorkerReport(
      name: name, host: "host", pid: 7, version: "1.0", startedAt: Date(timeIntervalSince1970: 1_700_000_000),
      queues: [WorkerReport.Queue(queue: "b", concurrency: 2), WorkerReport.Queue(queue: "a", concurrency: 1)],
      running: [
        WorkerReport.Running(
          id: .min(atMilliseconds: 5), kind: "k", queue: "a", attempt: 2,
          since: Date(timeIntervalSince1970: 1_700_000_001.5))
      ],
      minutes: minutes, batch: batch)
  }

  @Test("A report is shown as it was made, the next replaces it, and leaving takes it away")
  func reports() async throws {
    try await TestStack.with { stack in
      let (workers, admin) = (PostgresWorkerRegistry(pool: stack.pool), WorkerAdmin(stack.database))
      #expect(try await workers.heartbeat(report("w")) == WorkerCommands())
      let worker = try #require(try await admin.list().first)
      #expect(worker.name == "w" && worker.host == "host" && worker.pid == 7 && worker.version == "1.0")
      #expect(worker.startedAt == Date(timeIntervalSince1970: 1_700_000_000) && worker.state == .running)
      #expect(worker.queues.map(\.queue) == ["a", "b"] && worker.queues.map(\.concurrency) == [1, 2])
      #expect(worker.running.map(\.since) == [Date(timeIntervalSince1970: 1_700_000_001.5)])
      var next = report("w")
      next.state = .quiet
      next.running = []
      _ = try await workers.heartbeat(next)
      let later = try #require(try await admin.list().first)
      #expect(later.state == .quiet && later.running.isEmpty && later.seenAt > worker.seenAt)
      #expect(later.queues.map(\.isPaused) == [true, true])
      try await workers.leave(next)
      #expect(try await admin.list().isEmpty)
    }
  }

  @Test("Orders reach the worker they are for, and to stop outlasts to be quiet")
  func orders() async throws {
    try await TestStack.with { stack in
      let (workers, admin) = (PostgresWorkerRegistry(pool: stack.pool), WorkerAdmin(stack.database))
      for name in ["one", "two"] { _ = try await workers.heartbeat(report(name)) }
      #expect(try await admin.stop("one", by: .tester) == ["one"])
      #expect(try await workers.heartbeat(report("two")) == WorkerCommands())
      #expect(try await admin.quiet(nil, by: .tester) == ["one", "two"])
      #expect(try await workers.heartbeat(report("one")) == WorkerCommands(isQuiet: true, isStopped: true))
      #expect(try await workers.heartbeat(report("two")) == WorkerCommands(isQuiet: true))
      #expect(try await admin.list().map(\.orders) == ["stop", "quiet"])
      let unknown = await #expect(throws: OperationError.self) { try await admin.quiet("tow", by: .tester) }
      #expect(unknown?.code == .notFound && unknown?.message.contains("'two'") == true)
      let actions = try await ActionLog(stack.database).page().items.map { "\($0.action) \($0.subject)" }
      #expect(actions == ["workers.quiet two", "workers.quiet one", "workers.stop one"])
    }
  }

  @Test("A registry whose session is cut comes back by itself")
  func reconnects() async throws {
    try await TestStack.with { stack in
      let workers = PostgresWorkerRegistry(pool: stack.pool)
      _ = try await workers.heartbeat(report("w"))
      try await stack.pool.execute(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND datname = current_database() AND query LIKE '%INSERT INTO workers%'
        """)
      try await eventually("it reports again") {
        do {
          _ = try await workers.heartbeat(report("again"))
          return true
        } catch { return false }
      }
      #expect(try await WorkerAdmin(stack.database).list().map(\.name) == ["again", "w"])
      try await workers.leave(report("again"))
    }
  }

  private func minutes() -> [JobMinute] {
    let minute = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 60).rounded(.down) * 60)
    return ["x", "y", "z"].map { kind in
      var counts = JobCounts()
      counts.completed = 3
      counts.failed = 1
      counts.run = .seconds(8)
      counts.wait = .seconds(2)
      for _ in 1...3 { counts.runTimes.add(.milliseconds(500)) }
      counts.runTimes.add(.milliseconds(6500))
      for _ in 1...4 { counts.waitTimes.add(.milliseconds(500)) }
      return JobMinute(minute: minute, queue: "a", kind: JobKind(rawValue: kind), counts: counts)
    }
  }

  @Test("A batch of minutes that is told again adds nothing, even while its first telling is still on its way")
  func toldAgain() async throws {
    try await TestStack.with { stack in
      let statistics = Statistics(stack.database)
      let first = PostgresWorkerRegistry(pool: stack.pool)
      for _ in 1...2 { _ = try await first.heartbeat(report("w", minutes: minutes(), batch: 1)) }
      #expect(try await statistics.totals(.hour, kind: "x").completed == 3)
      // The next batch's rows are locked: its first sending is given up, and repeated several times at once.
      try await stack.pool.transaction { transaction in
        try await transaction.execute("SELECT FROM job_hours FOR UPDATE")
        let impatient = PostgresWorkerRegistry(pool: stack.pool, limit: .milliseconds(200))
        await #expect(throws: PostgresError.self) {
          try await impatient.heartbeat(report("w", minutes: minutes(), batch: 2))
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...4 {
          group.addTask {
            let again = PostgresWorkerRegistry(pool: stack.pool, limit: .seconds(60))
            _ = try await again.heartbeat(report("w", minutes: minutes(), batch: 2))
          }
        }
        try await group.waitForAll()
      }
      #expect(try await statistics.totals(.hour, kind: "x").completed == 6)
      #expect(try await statistics.totals(.week, kind: "x").completed == 6, "by the hour too")
      try await first.leave(report("w", minutes: minutes(), batch: 2))
      #expect(try await statistics.totals(.hour, kind: "x").completed == 6)
      // Another worker's batches are separate.
      try await first.leave(report("another", minutes: minutes(), batch: 1))
      #expect(try await statistics.totals(.hour, kind: "x").completed == 9)
      #expect(try await stack.count("SELECT count(*) FROM workers") == 0)
    }
  }

  @Test("Minutes add up, from several workers at once")
  func manyMinutes() async throws {
    try await TestStack.with { stack in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            let workers = PostgresWorkerRegistry(pool: stack.pool)
            for round in 0..<25 {
              // In a different order each time: concurrent counting must not deadlock.
              let shuffled = round % 2 == 0 ? minutes() : minutes().reversed()
              _ = try await workers.heartbeat(report("w\(number)", minutes: shuffled, batch: Int64(round + 1)))
            }
            try await workers.leave(report("w\(number)", minutes: minutes(), batch: 26))
          }
        }
        try await group.waitForAll()
      }
      let statistics = Statistics(stack.database)
      let totals = try await statistics.totals(.hour, kind: "x")
      #expect(totals.completed == 4 * 26 * 3 && totals.failed == 4 * 26 && totals.dead == 0)
      #expect(totals.meanRun == 2 && totals.meanWait == 0.5)
      #expect(try await statistics.totals(.week, kind: "x") == totals)
      #expect(try await statistics.kinds(.hour).map(\.kind) == ["x", "y", "z"])
      #expect(try await statistics.totals(.hour, queue: "b").completed == 0)
      #expect(try await statistics.totals(.hour, queue: "b").meanRun == nil)
    }
  }

  @Test(
    "A series has a point for every step of its window, and what is older is not in it",
    arguments: Statistics.Window.allCases)
  func series(_ window: Statistics.Window) async throws {
    try await TestStack.with { stack in
      let now = Date(timeIntervalSince1970: 1_790_000_123)
      let statistics = Statistics(stack.database, now: { now })
      try await stack.pool.execute(
        """
        INSERT INTO job_minutes
        SELECT to_timestamp(1790000100) - i * interval '1 minute', 'a', 'k', 1, 0, 0, 10, 20
          FROM generate_series(0, 20000) i
        """)
      try await stack.pool.execute(
        """
        INSERT INTO job_hours
        SELECT date_trunc('hour', minute, 'UTC'), queue, kind, sum(completed), sum(failed), sum(dead), sum(run_ms),
          sum(wait_ms)
        FROM job_minutes GROUP BY 1, 2, 3
        """)
      let points = try await statistics.series(window)
      #expect(Double(points.count) == window.length / window.step)
      #expect(zip(points, points.dropFirst()).allSatisfy { $1.at.timeIntervalSince($0.at) == window.step })
      let last = try #require(points.last)
      #expect(last.at <= now && now.timeIntervalSince(last.at) < window.step)
      #expect(
        points.dropLast().allSatisfy {
          Double($0.completed) == window.step / 60 && $0.meanRun == 0.01 && $0.meanWait == 0.02
        })
      #expect(try await statistics.totals(window).completed == points.reduce(0) { $0 + $1.completed })
    }
  }

  private func sweep(_ sweep: LedgerSweep, _ stack: TestStack) async throws {
    var registry = JobRegistry<PostgresLedger>()
    registry.register(LedgerSweep.self, handler: LedgerSweep.run)
    let worker = Worker(
      broker: stack.broker, ledger: stack.ledger, registry: registry,
      configuration: WorkerConfiguration(queues: [.default: 1]), logger: .quiet)
    try await RunningWorker.run(worker) { _ in
      try await stack.client.enqueue(sweep)
      try await eventually("all is swept") { try await stack.count("SELECT count(*) FROM jobs") == 0 }
    }
  }

  @Test("Dead letters and actions are kept by age and number, and one that is being retried is left")
  func keeping() async throws {
    try await TestStack.with { stack in
      // Row i is i minutes old, so 1 is the newest. Rows past 500 are older than three days.
      try await stack.pool.execute(
        """
        INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at, died_at)
        SELECT gen_random_uuid(), 'q', 'k' || i, 1, 1, '{}', 1, '[]', now(),
          now() - make_interval(mins => i, days => CASE WHEN i > 500 THEN 3 ELSE 0 END)
        FROM generate_series(1, 950) i
        """)
      try await stack.pool.execute(
        """
        INSERT INTO actions (at, actor, role, action, subject)
        SELECT now() - make_interval(mins => i, days => CASE WHEN i > 500 THEN 3 ELSE 0 END), 'a', 'full', 'x', 's' || i
        FROM generate_series(4950, 1, -1) i
        """)
      // Without limits every row stays.
      try await sweep(LedgerSweep(endedDays: 3), stack)
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 950)
      #expect(try await stack.count("SELECT count(*) FROM actions") == 4950)

      let byAge = LedgerSweep.Limit(days: 3, rows: 100_000)
      try await stack.pool.transaction { transaction in
        // The oldest is being retried: the sweep neither deletes it nor waits.
        _ = try await transaction.query("SELECT FROM dead_jobs WHERE kind = 'k950' FOR UPDATE")
        try await sweep(LedgerSweep(endedDays: 3, dead: byAge, actions: byAge), stack)
      }
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 501)
      #expect(try await stack.count("SELECT count(*) FROM actions") == 500)
      try await sweep(LedgerSweep(endedDays: 3, dead: byAge, actions: byAge), stack)
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 500)

      let byNumber = LedgerSweep.Limit(days: 3, rows: 30)
      try await sweep(LedgerSweep(endedDays: 3, dead: byNumber, actions: byNumber), stack)
      #expect(
        try await stack.pool.query("SELECT kind FROM dead_jobs ORDER BY died_at DESC").decode(String.self)
          == (1...30).map { "k\($0)" })
      #expect(
        try await stack.pool.query("SELECT subject FROM actions ORDER BY id DESC").decode(String.self)
          == (1...30).map { "s\($0)" })
      // Nothing is deleted twice.
      try await sweep(LedgerSweep(endedDays: 3, dead: byNumber, actions: byNumber), stack)
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 30)
    }
  }

  @Test("The sweep takes what is old, in batches, and nothing else")
  func sweep() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute(
        """
        INSERT INTO ended_jobs (id, queue, kind, version, priority, payload, attempts, created_at, state, ended_at)
        SELECT gen_random_uuid(), 'q', 'k', 1, 1, '{}', 1, now(), 'done',
          now() - make_interval(days => CASE WHEN i <= 4100 THEN 4 ELSE 2 END)
        FROM generate_series(1, 4110) i
        """)
      try await stack.pool.execute(
        """
        INSERT INTO job_minutes
        SELECT now() - make_interval(hours => h), 'q', 'k', 1, 0, 0, 0, 0 FROM unnest(ARRAY[24, 47, 49, 72]) h
        """)
      try await stack.pool.execute(
        """
        INSERT INTO job_hours SELECT now() - make_interval(days => d), 'q', 'k', 1, 0, 0, 0, 0
          FROM unnest(ARRAY[7, 9]) d
        """)
      let counted = try #require(minutes().first)
      for (name, age, batch) in [
        ("lost", "61 minutes", 0), ("away", "59 minutes", 0), ("counted", "8 days 23 hours", 1),
        ("forgotten", "9 days 1 hour", 1),
      ] {
        let report = report(name, minutes: batch == 0 ? [] : [counted], batch: Int64(batch))
        _ = try await PostgresWorkerRegistry(pool: stack.pool).heartbeat(report)
        try await stack.pool.execute(
          "UPDATE workers SET seen_at = now() - \(unescaped: "interval '\(age)'") WHERE name = \(name)")
      }
      try await stack.pool.execute(
        """
        INSERT INTO job_cancellations (id, queue, asked_at)
        VALUES (gen_random_uuid(), 'q', now() - interval '2 hours'), (gen_random_uuid(), 'q', now())
        """)
      var registry = JobRegistry<PostgresLedger>()
      registry.register(LedgerSweep.self, handler: LedgerSweep.run)
      let worker = Worker(
        broker: stack.broker, ledger: stack.ledger, registry: registry,
        configuration: WorkerConfiguration(queues: [.default: 1]), logger: .quiet)
      try await RunningWorker.run(worker) { _ in
        try await stack.client.enqueue(LedgerSweep(endedDays: 3))
        try await eventually("all is swept") { try await stack.count("SELECT count(*) FROM jobs") == 0 }
      }
      #expect(try await stack.count("SELECT count(*) FROM ended_jobs") == 10)
      #expect(try await stack.count("SELECT count(*) FROM job_minutes WHERE queue = 'q'") == 2)
      #expect(try await stack.count("SELECT count(*) FROM job_hours WHERE queue = 'q'") == 1)
      #expect(
        try await stack.pool.query("SELECT name FROM workers ORDER BY name").decode(String.self) == ["away", "counted"])
      #expect(try await WorkerAdmin(stack.database).list().map(\.name) == ["away"])
      // A batch sent again after so long is not added again.
      _ = try await PostgresWorkerRegistry(pool: stack.pool).heartbeat(report("counted", minutes: [counted], batch: 1))
      #expect(try await stack.count("SELECT coalesce(sum(completed), 0)::int8 FROM job_minutes WHERE kind = 'x'") == 6)
      #expect(try await stack.count("SELECT count(*) FROM job_cancellations") == 1)
    }
  }
}
