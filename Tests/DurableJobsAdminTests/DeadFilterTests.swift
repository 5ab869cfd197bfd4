import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import LibPQClient
import Locking
import ProgramTestSupport
import SocialAdmin
import TestSupport
import Testing

/// Dead letters by filter, at a rate, and with another payload.
@Suite("Choosing dead letters", .timeLimit(.minutes(5))) struct DeadFilterTests {
  private func admin(_ stack: TestStack, clock: any Clock<Duration> = ContinuousClock()) -> JobAdmin {
    JobAdmin(stack.client, kinds: .app, clock: clock)
  }

  /// 60 dead letters: of two kinds in two queues, with three errors, the first half dead for two hours.
  private func fill(_ stack: TestStack) async throws {
    try await stack.pool.execute(
      """
      INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at, died_at)
      SELECT gen_random_uuid(), (ARRAY['fanout', 'other'])[1 + i % 2],
        (ARRAY['posts.fan-out', 'test.other'])[1 + i / 2 % 2], 1, 1, '{"post":1,"author":2}', 3,
        jsonb_build_array(
          jsonb_build_object('attempt', 1, 'at', 1, 'error', 'an earlier one', 'worker', 'w'),
          jsonb_build_object(
            'attempt', 2, 'at', 1, 'error', (ARRAY['timed out', 'refused: 100%_', 'gone'])[1 + i % 3], 'worker', 'w')),
        now(), now() - CASE WHEN i <= 30 THEN interval '2 hours' ELSE interval '0' END
      FROM generate_series(1, 60) AS i
      """)
  }

  private static let filters: [(filter: JobFilter, sql: String)] = [
    (.init(), "true"), (.init(kind: "posts.fan-out"), "kind = 'posts.fan-out'"),
    (.init(queue: "other"), "queue = 'other'"), (.init(error: "timed"), "failures->-1->>'error' = 'timed out'"),
    // No pattern: its characters stand for themselves.
    (.init(error: "100%_"), "failures->-1->>'error' = 'refused: 100%_'"),
    (.init(error: "%"), "failures->-1->>'error' LIKE 'refused%'"),
    (.init(error: "an earlier one"), "false"), (.init(error: "'; DROP TABLE dead_jobs; --"), "false"),
    (
      .init(kind: "test.other", queue: "other", error: "o"),
      "kind = 'test.other' AND queue = 'other' AND failures->-1->>'error' IN ('timed out', 'gone')"
    ),
  ]

  @Test("A filter counts, retries and deletes what it finds and nothing else")
  func filters() async throws {
    try await TestStack.with { stack in
      for (filter, sql) in Self.filters {
        for isRetry in [true, false] {
          try await stack.pool.pipeline(["DELETE FROM dead_jobs", "DELETE FROM jobs.jobs"])
          try await fill(stack)
          var dead = filter
          dead.state = .dead
          let expected = try await stack.count("SELECT count(*) FROM dead_jobs WHERE \(unescaped: sql)")
          let counted = try await admin(stack).counts(dead).reduce(0) { $0 + $1.count }
          #expect(counted == expected, "\(filter)")
          let ids =
            isRetry
            ? try await admin(stack).deadLetters.retry(.all(filter), by: .tester)
            : try await admin(stack).deadLetters.delete(.all(filter), by: .tester)
          #expect(ids.count == expected, "\(filter)")
          #expect(try await stack.count("SELECT count(*) FROM dead_jobs WHERE \(unescaped: sql)") == 0)
          #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 60 - expected)
        }
      }
      var recent = JobFilter(since: Date(timeIntervalSinceNow: -3600))
      recent.queue = "other"
      try await stack.pool.execute("DELETE FROM dead_jobs")
      try await fill(stack)
      #expect(try await admin(stack).deadLetters.delete(.all(recent), by: .tester).count == 15)
    }
  }

  /// A clock that notes its sleeps and does not sleep.
  private final class Noting: Clock {
    typealias Instant = ContinuousClock.Instant
    let sleeps = Locked<[Duration]>([])
    var now: Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      let left = deadline - .now
      sleeps.withLock { $0.append(left) }
    }
  }

  @Test("A rate spreads the batches over time")
  func rate() async throws {
    try await TestStack.with { stack in
      try await fill(stack)
      let clock = Noting()
      let ids = try await admin(stack, clock: clock).deadLetters.retry(.all(.init()), by: .tester, rate: 25)
      #expect(ids.count == 60 && clock.sleeps.withLock { $0 }.count == 3)
      let total = clock.sleeps.withLock { $0 }.reduce(Duration.zero, +)
      #expect(total > .seconds(2.3) && total < .seconds(2.5))
    }
  }

  @Test("A dead letter is retried with another payload, as another job, and kept")
  func edit() async throws {
    try await TestStack.with { stack in
      try await fill(stack)
      let dead = try await stack.pool.query(
        "UPDATE jobs.dead_jobs SET unique_key = 'k', max_attempts = 5 WHERE id = (SELECT min(id::text)::uuid FROM dead_jobs WHERE kind = 'posts.fan-out') RETURNING id, queue"
      ).decode(PostgresUUID.self, String.self)[0]
      let id = JobID(dead.0)
      let payload = Array(#"{"post":9,"author":2}"#.utf8)
      let job = try await admin(stack).editDead(id.description, payload: payload, by: .tester)
      #expect(job.state == .waiting && job.id != id.description && job.queue == dead.1 && job.uniqueKey == "k")
      let new = try #require(JobID(job.id))
      let record = try #require(try await stack.ledger.records([new], queue: QueueName(rawValue: dead.1)).first)
      #expect(record.payload == payload && record.maxAttempts == 5 && record.attempts == 0)
      // Both are kept, each with a line that names the other.
      let old = try await admin(stack).show(id.description)
      #expect(old.job.state == .replaced && old.payload == #"{"post":1,"author":2}"# && old.failures.count == 2)
      for (one, other) in [(id, new), (new, id)] {
        let page = try await ActionLog(stack.database).page(subject: one.description).items
        #expect(page.map(\.action) == ["dead.edit"] && page.first?.detail.values.contains(other.description) == true)
      }
      // It is not dead any more.
      let again = await #expect(throws: OperationError.self) {
        try await admin(stack).editDead(id.description, payload: payload, by: .tester)
      }
      #expect(again?.code == .conflict)
    }
  }

  @Test("An edit that cannot be leaves the dead letter")
  func editRefused() async throws {
    try await TestStack.with { stack in
      try await fill(stack)
      let ids = try await stack.pool.query(
        "UPDATE dead_jobs SET unique_key = queue WHERE kind = 'posts.fan-out' AND queue = 'fanout' RETURNING id"
      ).decode(PostgresUUID.self).map { JobID($0).description }
      let payload = Array(#"{"post":9,"author":2}"#.utf8)
      _ = try await admin(stack).editDead(ids[0], payload: payload, by: .tester)
      let refusals: [(String, [UInt8], Operator, OperationError.Code)] = [
        (ids[1], payload, .tester, .conflict), (ids[1], Array(#"{"pots":9}"#.utf8), .tester, .data),
        (ids[1], Array("{".utf8), .tester, .data), (ids[1], payload, .visitor, .forbidden),
        (JobID.next().description, payload, .tester, .notFound), ("x", payload, .tester, .usage),
      ]
      for (id, payload, actor, code) in refusals {
        let error = await #expect(throws: OperationError.self) {
          try await admin(stack).editDead(id, payload: payload, by: actor)
        }
        #expect(error?.code == code, "\(error as Any)")
      }
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 59)
      #expect(try await stack.count("SELECT count(*) FROM ended_jobs") == 1)
    }
  }
}
