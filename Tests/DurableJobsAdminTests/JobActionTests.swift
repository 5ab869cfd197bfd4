import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import JobsTestSupport
import LibPQClient
import Locking
import ProgramTestSupport
import SocialAdmin
import TestSupport
import Testing

/// Operators' actions on jobs: each takes effect, is recorded, and is refused to a read-only operator.
@Suite("Acting on jobs", .timeLimit(.minutes(5)))
struct JobActionTests {
  private func admin(_ stack: TestStack) -> JobAdmin {
    JobAdmin(stack.client, kinds: .app)
  }

  private func ask(_ stack: TestStack, runAt: Date? = nil, uniqueKey: String? = nil) async throws -> String {
    try await admin(stack).enqueue(
      JobRequest(
        kind: "posts.fan-out", payload: Array(#"{"post":1,"author":2}"#.utf8), runAt: runAt, uniqueKey: uniqueKey),
      by: .tester
    ).id.description
  }

  private func actions(_ stack: TestStack, _ subject: String? = nil) async throws -> [String] {
    try await ActionLog(stack.database).page(subject: subject).items.map(\.action)
  }

  private func refusal(_ body: () async throws -> Void) async -> OperationError.Code? {
    do {
      try await body()
      return nil
    } catch let error as OperationError {
      return error.code
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  private func kill(_ id: String, on stack: TestStack) async throws {
    let parsed = try #require(JobID(id))
    let record = try #require(try await stack.ledger.records([parsed], queue: "fanout").first)
    try await stack.ledger.deadLetter([
      DeadJob(
        record: record, attempts: 3,
        failure: JobFailure(attempt: 3, at: .init(unixMilliseconds: 5), error: "it broke", worker: "w"))
    ])
    _ = try await stack.broker.remove([record.id], from: "fanout")
  }

  @Test("A payload that is no text is refused, with the byte's place, and nothing is noted")
  func noText() async throws {
    try await TestStack.with { stack in
      for bytes in [[0xFF], [0x00]] as [[UInt8]] {
        let payload = Array(#"{"post":1,"author":2}"#.utf8) + bytes
        do {
          _ = try await admin(stack).enqueue(JobRequest(kind: "posts.fan-out", payload: payload), by: .tester)
          Issue.record("it was taken")
        } catch let error as OperationError {
          #expect(error.code == .data)
          #expect(error.message == "the payload of posts.fan-out is not UTF-8 text: byte 21 is invalid")
        }
      }
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await actions(stack).isEmpty)
    }
  }

  @Test("A payload over the limit is refused, by name and size, and nothing is noted")
  func payloadLimit() async throws {
    try await TestStack.with { stack in
      let payload = Array(#"{"post":1,"author":2}"#.utf8) + Array(repeating: UInt8(ascii: " "), count: 1 << 20)
      do {
        _ = try await admin(stack).enqueue(JobRequest(kind: "posts.fan-out", payload: payload), by: .tester)
        Issue.record("it was taken")
      } catch let error as OperationError {
        #expect(error.code == .data)
        #expect(
          error.message.hasPrefix(
            "the payload of posts.fan-out has 1048597 bytes, which is over the limit of 1048576: "))
      }
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await actions(stack).isEmpty)
    }
  }

  @Test("Large dead letters are retried whole, whatever the limit is now, and deleted")
  func largeDead() async throws {
    try await TestStack.with { stack in
      for half in ["retried", "deleted"] {
        try await stack.pool.execute(
          """
          INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at)
          SELECT gen_random_uuid(), 'elsewhere', 'test.large', 1, 1, repeat(i::text, 1500000), 3, '[]', now()
          FROM generate_series(1, 9) AS i
          """, timeout: .seconds(60))
        if half == "retried" {
          #expect(try await admin(stack).retryDead(kind: nil, by: .tester) == 9)
        } else {
          #expect(try await admin(stack).deleteDead(kind: nil, by: .tester) == 9)
        }
        #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0)
      }
      let whole: PostgresQuery = "SELECT count(DISTINCT payload) FROM jobs WHERE octet_length(payload) = 1500000"
      #expect(try await stack.count(whole) == 9)
      // Two at a time: jobs past a batch of bytes wait for the next batch.
      #expect(try await actions(stack).filter { $0 == "dead.retry-all" }.count == 5)
      let consumer = try await stack.broker.join("elsewhere", worker: "w", lease: .seconds(120))
      let claims = try await eventual("the claims") {
        let claims = try await consumer.claim(20, wait: .milliseconds(10))
        return claims.count == 9 ? claims : nil
      }
      #expect(claims.allSatisfy { $0.record.payloadInLedger == 1_500_000 })
      try await consumer.leave()
    }
  }

  @Test("A job that waits is cancelled at once: in ledger and broker, with a record and a note")
  func cancelWaiting() async throws {
    try await TestStack.with { stack in
      let (ready, delayed) = (try await ask(stack, uniqueKey: "k"), try await ask(stack, runAt: .now + 3600))
      for id in [ready, delayed] {
        #expect(try await admin(stack).cancel(id, by: .tester).state == .cancelled)
        #expect(try await actions(stack, id) == ["jobs.cancel", "jobs.enqueue"])
        let shown = try await admin(stack).show(id)
        #expect(shown.timeline.map(\.what) == ["enqueued", "jobs.enqueue", "jobs.cancel", "cancelled"])
        #expect(await refusal { _ = try await admin(stack).cancel(id, by: .tester) } == .conflict)
      }
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await stack.broker.depth(of: "fanout") == QueueDepth())
      #expect(try await stack.count("SELECT count(*) FROM job_cancellations") == 0)
      _ = try await ask(stack, uniqueKey: "k")
    }
  }

  @Test("A job that a worker has claimed is told to it")
  func cancelClaimed() async throws {
    try await TestStack.with { stack in
      let id = try await ask(stack)
      let consumer = try await stack.broker.join("fanout", worker: "w", lease: .seconds(120))
      _ = try await eventual("the claim") {
        let claims = try await consumer.claim(1, wait: .milliseconds(10))
        return claims.isEmpty ? nil : claims
      }
      #expect(try await admin(stack).cancel(id, by: .tester).state == .cancelled)
      let told = try await stack.pool.query("SELECT id FROM job_cancellations").decode(PostgresUUID.self)
      #expect(told.map { JobID($0).description } == [id])
      let workers = PostgresWorkerRegistry(pool: stack.pool)
      let report = WorkerReport(
        name: "w", host: "h", pid: 1, version: "v", startedAt: Date(timeIntervalSince1970: 0),
        queues: [WorkerReport.Queue(queue: "fanout", concurrency: 1)])
      #expect(try await workers.heartbeat(report).cancelled == [try #require(JobID(id))])
      try await workers.leave(report)
      try await consumer.leave()
    }
  }

  @Test("A job whose transaction nobody ends is not cancelled in time, and the worker stays told")
  func cancelHeld() async throws {
    try await TestStack.with { stack in
      let id = try await ask(stack)
      let uuid = PostgresUUID(try #require(JobID(id)))
      try await stack.pool.transaction { transaction in
        try await transaction.execute("DELETE FROM jobs WHERE queue = 'fanout' AND id = \(uuid)")
        let refused = await refusal { _ = try await admin(stack).cancel(id, by: .tester, patience: .milliseconds(200)) }
        #expect(refused == .failed)
        #expect(try await stack.count("SELECT count(*) FROM job_cancellations") == 1)
      }
      // Its transaction ended it first.
      #expect(await refusal { _ = try await admin(stack).cancel(id, by: .tester) } == .notFound)
      #expect(try await actions(stack, id).filter { $0 == "jobs.cancel" }.count == 1)
    }
  }

  @Test("A job that ends while an operator waits for its cancellation leaves no order behind")
  func cancelFaster() async throws {
    try await TestStack.with { stack in
      let id = try await ask(stack)
      let uuid = PostgresUUID(try #require(JobID(id)))
      try await withThrowingTaskGroup(of: OperationError.Code?.self) { group in
        try await stack.pool.transaction { transaction in
          try await transaction.execute("DELETE FROM jobs WHERE queue = 'fanout' AND id = \(uuid)")
          group.addTask { await refusal { _ = try await admin(stack).cancel(id, by: .tester) } }
          try await eventually("the worker is told") {
            try await stack.count("SELECT count(*) FROM job_cancellations") == 1
          }
        }
        #expect(try await group.next() == .conflict, "it was faster")
      }
      #expect(try await stack.count("SELECT count(*) FROM job_cancellations") == 0)
    }
  }

  @Test("A worker is told to end pending jobs alone")
  func orderToEndPending() async throws {
    try await TestStack.with { stack in
      let (one, other) = (try await ask(stack), try await ask(stack))
      let ids = [try #require(JobID(one)), try #require(JobID(other))]
      try await stack.ledger.complete([ids[0]], queue: "fanout")
      try await stack.pool.transaction {
        try await stack.database.schema.orderToEndPending(ids, in: "fanout", in: $0)
      }
      let told = try await stack.pool.query("SELECT id FROM job_cancellations").decode(PostgresUUID.self)
      #expect(told.map { JobID($0) } == [ids[1]])
    }
  }

  @Test("A rescheduled job is due when it was said, in ledger and broker")
  func reschedule() async throws {
    try await TestStack.with { stack in
      let id = try await ask(stack)
      let moment = Date(timeIntervalSince1970: 4_000_000_000)
      let job = try await admin(stack).reschedule(id, at: moment, by: .tester)
      #expect(job.state == .delayed && job.runAt == moment)
      #expect(try await stack.broker.depth(of: "fanout") == QueueDepth(delayed: 1, known: 1))
      let again = try await admin(stack).reschedule(id, at: .distantPast + 1e9, by: .tester)
      #expect(again.state == .waiting)
      #expect(try await stack.broker.depth(of: "fanout").ready == 1)
      #expect(try await actions(stack, id) == ["jobs.reschedule", "jobs.reschedule", "jobs.enqueue"])

      // A job that the broker forgot is known to it again.
      _ = try await stack.broker.clear("fanout")
      _ = try await admin(stack).reschedule(id, at: moment, by: .tester)
      #expect(try await stack.broker.depth(of: "fanout") == QueueDepth(delayed: 1, known: 1))
    }
  }

  private struct FanOut: Job {
    static let kind: JobKind = "posts.fan-out"
    static let queue: QueueName = "fanout"
    var post: Int
    var author: Int
  }

  /// Runs a worker for the queue `fanout` whose jobs record their completion in a table.
  private func work(on stack: TestStack, _ body: @Sendable (RunningWorker) async throws -> Void) async throws {
    try await stack.pool.execute("CREATE TABLE done (id uuid NOT NULL)")
    var registry = JobRegistry<PostgresLedger>()
    registry.register(FanOut.self) { _, context in
      _ = try await context.transaction { transaction in
        try await transaction.sql.execute("INSERT INTO done VALUES (\(PostgresUUID(context.id)))")
      }
    }
    var configuration = WorkerConfiguration(queues: ["fanout": 4])
    (configuration.relayInterval, configuration.relayAge) = (.milliseconds(50), .milliseconds(50))
    let worker = Worker(
      broker: stack.broker, ledger: stack.ledger, registry: registry, configuration: configuration, logger: .quiet)
    try await RunningWorker.run(worker, body)
  }

  @Test("A job that Redis has no room for is rescheduled and retried all the same, and comes when there is room")
  func rescheduleWithoutRoom() async throws {
    try await TestStack.with { stack in
      let (one, other) = (try await ask(stack), try await ask(stack, runAt: .now + 3600))
      let ids = [try #require(JobID(one)), try #require(JobID(other))]
      #expect(try await stack.broker.remove(ids, from: "fanout").count == 2)
      try await stack.redisClient.send(RedisCommand("CONFIG", "SET", "maxmemory", "1"))
      let moment = Date(timeIntervalSince1970: 4_000_000_000)
      #expect(try await admin(stack).reschedule(one, at: moment, by: .tester).runAt == moment)
      #expect(try await admin(stack).retry(other, by: .tester).state == .waiting)
      #expect(try await stack.broker.missing(ids, in: "fanout") == ids)
      try await stack.redisClient.send(RedisCommand("CONFIG", "SET", "maxmemory", "0"))
      try await work(on: stack) { _ in
        try await eventually("one is delayed, one is done") {
          try await stack.broker.depth(of: "fanout") == QueueDepth(delayed: 1, known: 1, workers: 1)
        }
      }
      #expect(try await stack.pool.query("SELECT id FROM done").decode(PostgresUUID.self).map { JobID($0) } == [ids[1]])
      #expect(try await admin(stack).show(one).job.runAt == moment)
    }
  }

  @Test("Dead letters that many retry at once, while workers run them, are pending once and run once")
  func retriedByMany() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute(
        """
        INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at)
        SELECT gen_random_uuid(), 'fanout', 'posts.fan-out', 1, 1, '{"post":1,"author":2}', 20, '[]', now()
        FROM generate_series(1, 3000)
        """)
      try await work(on: stack) { _ in
        let retried = try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 1...6 { group.addTask { try await admin(stack).retryDead(kind: nil, by: .tester) } }
          return try await group.reduce(0, +)
        }
        #expect(retried == 3000)
        #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0)
        try await eventually("all are done") { try await stack.count("SELECT count(*) FROM jobs") == 0 }
        #expect(try await admin(stack).retryDead(kind: nil, by: .tester) == 0)
      }
      #expect(try await stack.count("SELECT count(*) FROM done") == 3000)
      #expect(try await stack.count("SELECT count(DISTINCT id) FROM done") == 3000)
    }
  }

  @Test("What runs or has ended cannot be rescheduled, and stays as it is")
  func rescheduleRefused() async throws {
    try await TestStack.with { stack in
      let (claimed, dead) = (try await ask(stack), try await ask(stack))
      try await kill(dead, on: stack)
      let consumer = try await stack.broker.join("fanout", worker: "w", lease: .seconds(120))
      _ = try await eventual("the claim") {
        let claims = try await consumer.claim(1, wait: .milliseconds(10))
        return claims.isEmpty ? nil : claims
      }
      for id in [claimed, dead] {
        #expect(await refusal { _ = try await admin(stack).reschedule(id, at: .now + 60, by: .tester) } == .conflict)
        #expect(try await admin(stack).show(id).job.runAt == nil)
        #expect(try await !actions(stack, id).contains("jobs.reschedule"))
      }
      try await consumer.leave()
    }
  }

  @Test("A dead letter is tried again or thrown away; what is not dead is not")
  func dead() async throws {
    try await TestStack.with { stack in
      let (one, other) = (try await ask(stack), try await ask(stack))
      #expect(await refusal { _ = try await admin(stack).delete(one, by: .tester) } == .conflict)
      for id in [one, other] { try await kill(id, on: stack) }
      #expect(try await admin(stack).retry(one, by: .tester).state == .waiting)
      #expect(try await actions(stack, one).first == "dead.retry")
      let deleted = try await admin(stack).delete(other, by: .tester)
      #expect(deleted.state == .deleted && deleted.error == "it broke")
      #expect(try await admin(stack).show(other).timeline.map(\.what).contains("attempt 3 failed"))
      #expect(await refusal { _ = try await admin(stack).retry(other, by: .tester) } == .conflict)
      #expect(await refusal { _ = try await admin(stack).delete(JobID.next().description, by: .tester) } == .notFound)
    }
  }

  @Test("An order to end a job goes with the attempt it was meant for, and not on to the dead letter's retry")
  func cancellation() async throws {
    try await TestStack.with { stack in
      let (one, other) = (try await ask(stack), try await ask(stack))
      let ids = try [one, other].map { try #require(JobID($0)) }
      _ = try await stack.client.transaction { transaction in
        try await stack.ledger.orderToEnd([ids[0]], queue: "fanout", in: transaction.sql)
      }
      for id in [one, other] { try await kill(id, on: stack) }
      #expect(try await stack.count("SELECT count(*) FROM job_cancellations") == 0, "it went with the last attempt")
      // An order left by an earlier version.
      _ = try await stack.client.transaction { transaction in
        try await stack.ledger.orderToEnd([ids[1]], queue: "fanout", in: transaction.sql)
      }
      for id in [one, other] { #expect(try await admin(stack).retry(id, by: .tester).state == .waiting) }
      #expect(try await stack.count("SELECT count(*) FROM job_cancellations") == 0)
    }
  }

  @Test("Dead letters go in batches, and how far it is told")
  func manyDead() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute(
        """
        INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at)
        SELECT gen_random_uuid(), 'fanout', CASE WHEN i <= 2300 THEN 'posts.fan-out'
          ELSE 'feed.backfill' END, 1, 1, '{}', 20,
          '[]', now()
        FROM generate_series(1, 2500) i
        """)
      let told = Told()
      #expect(try await admin(stack).deleteDead(kind: "posts.fan-out", by: .tester) { told.note($0) } == 2300)
      #expect(told.numbers == [1000, 2000, 2300])
      #expect(try await stack.count("SELECT count(*) FROM ended_jobs WHERE state = 'deleted'") == 2300)
      #expect(try await admin(stack).retryDead(kind: nil, by: .tester) == 200)
      #expect(try await actions(stack).filter { $0 == "dead.delete-all" }.count == 3)
      let last = try await ActionLog(stack.database).page(limit: 1)
      #expect(last.items.map(\.detail) == [["jobs": "200"]] && last.items.map(\.subject) == ["*"])
      let before = try await ActionLog(stack.database).page(before: last.next, limit: 1).items
      #expect(before.map(\.detail) == [["jobs": "300"]] && before.map(\.subject) == ["posts.fan-out"])
    }
  }

  @Test("Somebody who may only look changes nothing")
  func visitor() async throws {
    try await TestStack.with { stack in
      let (pending, dead) = (try await ask(stack, runAt: .now + 3600), try await ask(stack))
      try await kill(dead, on: stack)
      let admin = admin(stack)
      let queues = QueueAdmin(stack.database, broker: stack.broker, known: JobKinds.app.queues)
      let workers = WorkerAdmin(stack.database)
      let attempts: [@Sendable () async throws -> Void] = [
        { _ = try await admin.cancel(pending, by: .visitor) },
        { _ = try await admin.reschedule(pending, at: .now + 60, by: .visitor) },
        { _ = try await admin.retry(pending, by: .visitor) },
        { _ = try await admin.retry(dead, by: .visitor) },
        { _ = try await admin.delete(dead, by: .visitor) },
        { _ = try await admin.retryDead(kind: nil, by: .visitor) },
        { _ = try await admin.deleteDead(kind: nil, by: .visitor) },
        {
          let request = JobRequest(kind: "posts.fan-out", payload: Array(#"{"post":1,"author":2}"#.utf8))
          _ = try await admin.enqueue(request, by: .visitor)
        },
        { try await queues.pause("fanout", by: .visitor) },
        { try await queues.resume("fanout", by: .visitor) },
        { _ = try await queues.clear("fanout", by: .visitor) },
        { _ = try await workers.quiet(nil, by: .visitor) },
        { _ = try await workers.stop(nil, by: .visitor) },
        { try await ActionLog(stack.database).record("x", "y", by: .visitor) },
      ]
      for (number, attempt) in attempts.enumerated() {
        #expect(await refusal(attempt) == .forbidden, "attempt \(number)")
      }
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 1)
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 1)
      #expect(try await stack.count("SELECT count(*) FROM queue_pauses") == 0)
      #expect(try await stack.count("SELECT count(*) FROM actions WHERE actor = 'visitor'") == 0)
      #expect(try await stack.broker.depth(of: "fanout") == QueueDepth(delayed: 1, known: 1))
    }
  }

  @Test("Waiting for a job ends with it, however it ends")
  func waiting() async throws {
    try await TestStack.with { stack in
      let admin = admin(stack)
      let (done, dead, stuck) = (try await ask(stack), try await ask(stack), try await ask(stack))
      try await stack.ledger.complete([try #require(JobID(done))], queue: "fanout")
      #expect(try await admin.wait(for: done, limit: .zero).state == .done, "it was done before anybody looked")
      async let end = admin.wait(for: dead, limit: .seconds(60))
      try await kill(dead, on: stack)
      #expect(try await end.state == .dead)
      #expect(await refusal { _ = try await admin.wait(for: stuck, limit: .milliseconds(30)) } == .failed)
      #expect(await refusal { _ = try await admin.wait(for: JobID.next().description, limit: .zero) } == .notFound)
    }
  }
}

/// Records the progress that was reported.
private final class Told: Sendable {
  private let list = Locked<[Int]>([])
  var numbers: [Int] { list.withLock { $0 } }
  func note(_ number: Int) { list.withLock { $0.append(number) } }
}
