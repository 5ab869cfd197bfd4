import Foundation
import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient
import ProgramTestSupport
import SocialAdmin
import TestSupport
import Testing

@testable import DurableJobsAdmin

@Suite("Jobs as an operator sees them", .timeLimit(.minutes(5)))
struct JobAdminTests {
  private func admin(_ stack: TestStack) -> JobAdmin {
    JobAdmin(stack.client, kinds: .app)
  }

  private func ask(_ stack: TestStack, uniqueKey: String? = nil) async throws -> JobRecord {
    try await admin(stack).enqueue(
      JobRequest(kind: "posts.fan-out", payload: Array(#"{"post":1,"author":2}"#.utf8), uniqueKey: uniqueKey),
      by: .tester)
  }

  @Test("Each state is told from the others")
  func states() async throws {
    try await TestStack.with { stack in
      let records = [try await ask(stack), try await ask(stack), try await ask(stack), try await ask(stack)]
      let ids = records.map { PostgresUUID($0.id) }
      try await stack.pool.execute("UPDATE jobs SET parked = true WHERE id = \(ids[0])")
      try await stack.pool.execute("UPDATE jobs SET run_at = now() + interval '1 hour' WHERE id = \(ids[1])")
      try await stack.ledger.recordFailures(
        [
          FailedJob(
            id: records[2].id,
            failure: JobFailure(attempt: 3, at: .init(unixMilliseconds: 0), error: "it broke", worker: "w"),
            runAt: .init(unixMilliseconds: 4_000_000_000_000))
        ],
        queue: "fanout")
      let listed = try await admin(stack).page(JobFilter()).items
      #expect(listed.map(\.state) == [.waiting, .retrying, .delayed, .parked], "the newest first")
      #expect(listed[1].attempts == 3 && listed[1].error == "it broke")
      for state in [JobState.waiting, .retrying, .delayed, .parked] {
        #expect(try await admin(stack).page(JobFilter(state: state)).items.map(\.state) == [state])
      }
      #expect(try await admin(stack).page(JobFilter(limit: 2)).items.count == 2)
      let detail = try await admin(stack).show(records[2].id.description)
      #expect(detail.failures.map(\.error) == ["it broke"])

      let parked = await #expect(throws: OperationError.self) {
        try await admin(stack).retry(records[0].id.description, by: .tester)
      }
      #expect(parked?.code == .conflict)
    }
  }

  @Test("What a worker says that it runs is running, and found behind all that waits; what it has lost waits")
  func running() async throws {
    try await TestStack.with { stack in
      let records = [try await ask(stack), try await ask(stack), try await ask(stack)]
      let (run, failed) = (records[0], records[1])
      try await stack.pool.execute(
        """
        UPDATE jobs SET run_at = now() + interval '1 hour', failures = '[]' WHERE id = \(PostgresUUID(failed.id))
        """)
      let workers = PostgresWorkerRegistry(pool: stack.pool)
      _ = try await workers.heartbeat(
        WorkerReport(
          name: "one", host: "host", pid: 1, version: "1", startedAt: Date(timeIntervalSince1970: 0), state: .running,
          queues: [WorkerReport.Queue(queue: "fanout", concurrency: 2)],
          running: [run, failed].map {
            WorkerReport.Running(
              id: $0.id, kind: $0.kind, queue: $0.queue, attempt: 1,
              since: Date(timeIntervalSince1970: 0))
          }, minutes: []))
      let admin = admin(stack)
      #expect(
        try await admin.page(JobFilter()).items.map(\.state) == [.waiting, .retrying, .running], "the newest first")
      #expect(try await admin.page(JobFilter(state: .running)).items.map(\.id) == [run.id.description])
      #expect(try await admin.page(JobFilter(state: .running, queue: "lookups")).items.isEmpty)
      #expect(try await admin.page(JobFilter(state: .waiting)).items.map(\.id) == [records[2].id.description])
      #expect(try await admin.show(run.id.description).job.state == .running)

      try await stack.pool.execute("UPDATE workers SET seen_at = now() - interval '11 seconds'")
      #expect(try await admin.page(JobFilter(state: .running)).items.isEmpty)
      #expect(try await admin.show(run.id.description).job.state == .waiting)
      try await workers.leave(
        WorkerReport(
          name: "one", host: "host", pid: 1, version: "1", startedAt: Date(timeIntervalSince1970: 0), state: .stopping,
          queues: [], running: [],
          minutes: []))
    }
  }

  @Test("More dead letters than one transaction takes are all pending again, but those whose unique key is taken")
  func manyDead() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute(
        """
        INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at)
        SELECT gen_random_uuid(), 'fanout', 'posts.fan-out', 1, 1, '{"post":1,"author":2}', 20,
          CASE WHEN i <= 3 THEN 'key ' || i END, '[]', now()
        FROM generate_series(1, 2500) i
        """)
      for number in 1...2 { _ = try await ask(stack, uniqueKey: "key \(number)") }
      #expect(try await admin(stack).deadLetters.retry(.all(.init(kind: "feed.backfill")), by: .tester).isEmpty)
      #expect(try await admin(stack).deadLetters.retry(.all(.init()), by: .tester).count == 2498)
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 2)
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 2500)
      #expect(try await stack.broker.depth(of: "fanout").ready == 2500)
    }
  }
}
