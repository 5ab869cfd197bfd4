import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Locking
import Logging
import PrivateServers
import ProgramTestSupport
import Social
import SocialAdmin
import TestSupport
import Testing

@testable import DurableJobsAdmin

@Suite(.timeLimit(.minutes(5))) struct StackWatchTests {
  private struct Task1: Job {
    static let kind: JobKind = "test.task"
    static let queue: QueueName = "tasks"
  }

  private func sampler(_ stack: TestStack) -> StackSampler {
    StackSampler(
      stack.database, broker: stack.broker, known: ["tasks", "idle"], kinds: ["test.task"],
      gauges: AppGauges(lookups: LookupRules(keys: [])).all, autoscaling: Autoscaling(),
      usualConcurrency: 4, logger: .quiet)
  }

  private func seen(_ queue: String, in sample: StackSample) throws -> StackSample.QueueSample {
    try #require(sample.queues.first { $0.queue == queue })
  }

  @Test func aSampleSaysHowItStands() async throws {
    try await TestStack.with { stack in
      _ = try await stack.client.enqueue([Task1(), Task1(), Task1()])
      _ = try await stack.client.enqueue(Task1(), options: JobOptions(at: .init(unixMilliseconds: 4_000_000_000_000)))
      // Owed, and never pushed: the process died in between.
      try await stack.ledger.withTransaction { sql in
        _ = try await stack.ledger.add(
          [JobRecord(kind: "nobody.knows", queue: "tasks", payload: Array("{}".utf8), isDurable: true)], in: sql)
      }
      // Parked jobs wait only in the ledger, and dead ones are not waiting: neither counts as debt.
      try await stack.pool.execute(
        """
        INSERT INTO jobs (queue, id, kind, version, payload, parked)
        VALUES ('tasks', gen_random_uuid(), 'test.task', 9, '{}', true)
        """)
      try await stack.pool.execute(
        """
        INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at)
        VALUES (gen_random_uuid(), 'tasks', 'test.task', 1, 1, '{}', 3, '[]', now())
        """)
      try await stack.pool.execute("INSERT INTO queue_pauses (queue, paused_by) VALUES ('idle', 'ann')")
      try await stack.pool.execute(
        """
        INSERT INTO workers (name, host, pid, version, started_at, state, queues, running) VALUES
          ('w', 'h', 1, '1', now(), 'running', '[{"queue": "tasks", "slots": 3}, {"queue": "idle", "slots": 1}]',
            \(PostgresJSON("[{\"queue\":\"tasks\",\"since\":\(Int((Date().timeIntervalSince1970 - 90) * 1000))}]"))),
          ('lost', 'h', 2, '1', now(), 'running', '[{"queue": "tasks", "slots": 99}]', '[]')
        """)
      try await stack.pool.execute("UPDATE workers SET seen_at = now() - interval '1 minute' WHERE name = 'lost'")
      try await stack.pool.execute(
        """
        INSERT INTO fan_outs (post_id, author_id, followers, chunks, started_at)
        VALUES (1, 1, 9, 1, now() - interval '2 minutes')
        """)
      let sampler = sampler(stack)
      try await sampler.count()
      let now = Date()
      let sample = try await sampler.sample(at: now)
      let tasks = try seen("tasks", in: sample)
      #expect((tasks.ready, tasks.claimed, tasks.delayed, tasks.workers) == (3, 0, 1, 1))
      #expect(tasks.concurrency == 3 && tasks.debt == 1 && !tasks.isPaused)
      #expect((89.0...300).contains(tasks.oldestRunning ?? 0))
      #expect((tasks.oldestWaiting ?? -1) >= 0)
      let idle = try seen("idle", in: sample)
      #expect(idle.isPaused && idle.debt == 0 && idle.oldestWaiting == nil && idle.oldestRunning == nil)
      #expect((sample.broker?.used ?? 0) > 100_000)
      let figures = Dictionary(uniqueKeysWithValues: try #require(sample.gauges).map { ($0.name, $0.value) })
      #expect(figures["fanmill_fan_outs_unfinished"] == 1)
      #expect((119...600).contains(figures["fanmill_fan_out_lag_seconds"] ?? 0))
      #expect(
        sample.jobs == [
          StackSample.JobCount(queue: "tasks", kind: "other", state: "waiting", jobs: 1),
          StackSample.JobCount(queue: "tasks", kind: "test.task", state: "dead", jobs: 1),
          StackSample.JobCount(queue: "tasks", kind: "test.task", state: "delayed", jobs: 1),
          StackSample.JobCount(queue: "tasks", kind: "test.task", state: "parked", jobs: 1),
          StackSample.JobCount(queue: "tasks", kind: "test.task", state: "waiting", jobs: 3),
        ])
      try await sample.save(in: stack.database)
      var kept = try #require(try await StackSample.latest(in: stack.database))
      #expect(abs(kept.at.timeIntervalSince(now)) < 0.001)
      kept.at = sample.at
      #expect(kept == sample)
    }
  }

  @Test func whereThereIsNothingToDoLittleIsAsked() async throws {
    try await TestStack.with { stack in
      let queues = JobKinds.app.queues
      // Their streams outlive the worker.
      for queue in queues {
        _ = try await stack.broker.join(queue, worker: "w", lease: .seconds(60))
      }
      let sampler = StackSampler(
        stack.database, broker: stack.broker, known: queues, kinds: [],
        gauges: AppGauges(lookups: LookupRules(keys: [])).all, autoscaling: Autoscaling(),
        usualConcurrency: 4, logger: .quiet)
      func round() async throws -> Int {
        let before = try await stack.redisClient.commandCounts().values.reduce(0, +)
        try await sampler.count()
        #expect(try await sampler.sample(at: Date()).broker != nil)
        // INFO itself is counted too.
        return try await stack.redisClient.commandCounts().values.reduce(0, +) - before - 1
      }
      // The first round loads the scripts.
      _ = try await round()
      let idle = try await round()
      #expect(queues.count > 5 && idle == 3 * queues.count + 1)

      // One more than the three for what the queue is pending, three for each stream that holds something.
      _ = try await stack.client.enqueue([Task1(), Task1()], options: JobOptions(queue: queues[0]))
      #expect(try await round() == idle + 4)
    }
  }

  @Test func anOlderSampleIsNotKept() async throws {
    try await TestStack.with { stack in
      var late = StackSample(at: Date(timeIntervalSince1970: 2000))
      late.queues = [StackSample.QueueSample(queue: "late")]
      try await late.save(in: stack.database)
      try await StackSample(at: Date(timeIntervalSince1970: 1000)).save(in: stack.database)
      #expect(try await StackSample.latest(in: stack.database)?.queues.map(\.queue) == ["late"])
    }
  }

  @Test func theLoadIsWhatEndedAndWhatTheQueueGrewBy() async throws {
    try await TestStack.with { stack in
      let sampler = sampler(stack)
      let start = Date(timeIntervalSince1970: 1_767_225_600)
      _ = try await sampler.sample(at: start)
      _ = try await stack.client.enqueue((0..<10).map { _ in Task1() })
      func note(_ ended: Int, _ runMilliseconds: Double) async throws {
        try await stack.pool.execute(
          """
          INSERT INTO job_minutes AS old VALUES
            (date_trunc('minute', now()), 'tasks', 'test.task', \(ended), 0, 0, \(runMilliseconds), 0)
          ON CONFLICT (minute, queue, kind) DO UPDATE
            SET completed = old.completed + excluded.completed, run_ms = old.run_ms + excluded.run_ms
          """)
      }
      try await note(40, 8000)
      let first = try seen("tasks", in: try await sampler.sample(at: start + 5))
      #expect(abs(first.load.arrivalRate - 10) < 1e-9)
      #expect(abs((first.load.runTime ?? 0) - 0.2) < 1e-9)
      // ⌈(10 + 10 ÷ 30) · 0.2 ÷ (4 · 0.8)⌉
      #expect(first.wanted == 1)
      // Earlier counts are not counted again.
      try await note(30, 6000)
      let second = try seen("tasks", in: try await sampler.sample(at: start + 10))
      #expect((6...10).contains(second.load.arrivalRate))
      #expect(abs((second.load.runTime ?? 0) - 0.2) < 1e-9)

      // Another process continues from there.
      let other = self.sampler(stack)
      var kept = StackSample(at: start + 10)
      kept.queues = [second]
      await other.resume(from: kept)
      let third = try seen("tasks", in: try await other.sample(at: start + 15))
      #expect(third.load.arrivalRate < second.load.arrivalRate && third.load.arrivalRate > 4)
    }
  }

  @Test func withoutTheBrokerTheLedgerSaysWhatWaits() async throws {
    try await TestStack.with { stack in
      _ = try await stack.client.enqueue(Task1())
      await stack.redis.stop()
      let sample = try await sampler(stack).sample(at: Date() + 100)
      #expect(sample.broker == nil)
      #expect((99...400).contains(try seen("tasks", in: sample).oldestWaiting ?? 0))
      #expect(try seen("idle", in: sample).oldestWaiting == nil)
    }
  }

  @Test func anAlarmIsToldOnceHoweverManyWatch() async throws {
    try await TestStack.with { stack in
      _ = try await stack.client.enqueue(Task1())
      let told = Locked<[String]>([])
      var configuration = StackWatch.Configuration(limits: try AlarmLimits("tasks:waiting=500ms"))
      configuration.queues = ["tasks"]
      configuration.deliver = { message in
        let body = try message.json()
        told.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
      }
      configuration.interval = .milliseconds(20)
      configuration.countInterval = .milliseconds(20)
      let watched = configuration
      func watch() -> StackWatch {
        StackWatch(watched, database: stack.database, broker: stack.broker, logger: .quiet)
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<3 { group.addTask { try await watch().run() } }
        try await eventually("it is told") { told.withLock { $0.count } == 1 }
        try await eventually("it is shown") {
          try await StackSample.latest(in: stack.database)?.alarms == [.init(queue: "tasks", what: "waiting")]
        }
        // A message that was sent but not recorded yet would be sent again.
        let book = AlarmBook(stack.database, limits: watched.limits, isDelivered: true)
        try await eventually("it is noted as told") { try await book.undelivered() == nil }
        // The leader stops, and its successor finds the alarm open.
        group.cancelAll()
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await watch().run() }
        let before = try #require(try await StackSample.latest(in: stack.database)).at
        try await eventually("another watches") {
          try await StackSample.latest(in: stack.database)?.at ?? before > before
        }
        #expect(told.withLock { $0.count } == 1)
        let id = try #require(
          try await stack.ledger.pendingIDs(queue: "tasks", after: nil, before: .min(at: .distantFuture), limit: 1)
            .first)
        _ = try await stack.broker.remove([id], from: "tasks")
        try await eventually("its end is told") { told.withLock { $0.count } == 2 }
        group.cancelAll()
      }
      #expect(told.withLock { $0[0].contains("\"opened\"") && $0[1].contains("\"closed\"") })
    }
  }

  @Test("A figure of the app's that cannot be read costs itself: the others, the queues and the alarms are seen")
  func anAppsFigureFails() async throws {
    try await TestStack.with { stack in
      _ = try await stack.client.enqueue(Task1())
      var configuration = StackWatch.Configuration(limits: try AlarmLimits("tasks:waiting=1ms"))
      configuration.queues = ["tasks"]
      configuration.gauges = [
        { pool, _ in [StackSample.Gauge("never", try await pool.query("SELECT 1/0")[0].decode(Double.self))] },
        { _, _ in [StackSample.Gauge("answer", 42)] },
      ]
      configuration.interval = .milliseconds(20)
      let watch = StackWatch(configuration, database: stack.database, broker: stack.broker, logger: .quiet)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await watch.run() }
        try await eventually("the alarm is given") {
          try await StackSample.latest(in: stack.database)?.alarms == [.init(queue: "tasks", what: "waiting")]
        }
        group.cancelAll()
      }
      let sample = try #require(try await StackSample.latest(in: stack.database))
      #expect(sample.gauges == [StackSample.Gauge("answer", 42)])
      #expect(try seen("tasks", in: sample).ready == 1)
    }
  }

  @Test func anAlarmOfAQueueThatIsGoneIsOver() async throws {
    try await TestStack.with { stack in
      _ = try await stack.client.enqueue(Task1(), options: JobOptions(queue: "made-up"))
      let book = AlarmBook(stack.database, limits: try AlarmLimits("*:waiting=1s"), isDelivered: false)
      let sampler = sampler(stack)
      try await sampler.count()
      let full = try await sampler.sample(at: Date() + 10)
      #expect(try await book.judge(full.readings, at: full.at).map(\.queue) == ["made-up"])
      // No worker serves it, nothing is pending there, and no kind names it.
      _ = try await stack.broker.clear("made-up")
      try await stack.pool.execute("DELETE FROM jobs")
      try await sampler.count()
      let empty = try await sampler.sample(at: Date() + 20)
      #expect(try await book.judge(empty.readings, at: empty.at).map(\.queue) == ["made-up"])
      #expect(try await book.open().isEmpty)
      #expect(try await sampler.sample(at: Date() + 30).queues.map(\.queue) == ["idle", "tasks"])
    }
  }

  @Test func alarmsThatWereOverAMonthAgoAreForgotten() async throws {
    try await TestStack.with { stack in
      for (queue, days) in [("old", Int32(31)), ("new", 29)] {
        try await stack.pool.execute(
          """
          INSERT INTO alarms VALUES (gen_random_uuid(), \(queue), 'waiting', 1, 2,
            now() - make_interval(days => \(days)),
            now() - make_interval(days => \(days)), true, true)
          """)
      }
      let watch = StackWatch(
        StackWatch.Configuration(limits: try AlarmLimits("")), database: stack.database, broker: stack.broker,
        logger: .quiet)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await watch.run() }
        try await eventually("the old one is forgotten") {
          try await stack.pool.query("SELECT queue FROM alarms").decode(String.self) == ["new"]
        }
        group.cancelAll()
      }
    }
  }
}
