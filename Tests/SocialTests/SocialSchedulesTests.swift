import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct SocialSchedulesTests {
  @Test func eachScheduleHasANameOfItsOwnAndAJobThatWorkersCanRun() throws {
    let schedules = try SocialSchedules.all()
    try Schedule.check(schedules)
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry)
    for schedule in schedules {
      let record = try schedule.job(at: Tick(schedule: schedule.name, time: Date(unixMilliseconds: 1_767_225_600_000)))
      let entry = try #require(registry.entries[record.kind], "\(schedule.name)")
      #expect(record.kind == schedule.kind && record.queue == entry.queue)
      try entry.validate(record.payload, record.version)
      #expect(schedule.timing.next(after: Date()) != nil, "\(schedule.name)")
    }
  }

  @Test func feedsKeepWhatTheSettingSays() throws {
    func keepDays(_ days: Int) throws -> Int? {
      let schedules = try SocialSchedules.all(feedDays: days)
      let partitions = try #require(schedules.first { $0.name == "feed.partitions" })
      let record = try partitions.job(at: Tick(schedule: partitions.name, time: Date(unixMilliseconds: 0)))
      return try FeedPartitions(payload: record.payload, version: record.version).keepDays
    }
    #expect(try keepDays(30) == 30)
    #expect(try keepDays(0) == nil)
  }

  @Test func expiredSessionsGoInBatchesAndTheOthersStay() async throws {
    try await App.run { app in
      let account = try await app.account("somebody")
      // Slightly more than two batches.
      try await app.pool.execute(
        """
        INSERT INTO sessions (token_hash, account_id, expires_at)
        SELECT decode(lpad(to_hex(i), 64, '0'), 'hex'), \(account),
          now() + make_interval(hours => CASE WHEN i <= 2100 THEN -1 ELSE 1 END)
        FROM generate_series(1, 2110) i
        """)
      #expect(try await app.pool.transaction { try await Sessions.sweep(upTo: 50, in: $0) } == 50)
      try await app.client.enqueue(SessionSweep(), options: JobOptions(queue: SocialJobs.fanOutQueue))
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM sessions") == 10)
      #expect(try await app.count("SELECT count(*) FROM sessions WHERE expires_at <= now()") == 0)
    }
  }

  @Test func oldIdempotencyKeysGoInBatchesAndTheOthersStay() async throws {
    try await App.run { app in
      try await app.pool.execute(
        """
        INSERT INTO idempotency_keys (account_id, key, request_hash, created_at)
        SELECT i % 7, 'key ' || i, '', now() - make_interval(hours => CASE WHEN i <= 2100 THEN 25 ELSE 23 END)
        FROM generate_series(1, 2110) i
        """)
      #expect(try await app.pool.transaction { try await IdempotencyKeys.sweep(upTo: 50, in: $0) } == 50)
      try await app.client.enqueue(IdempotencyKeySweep(), options: JobOptions(queue: SocialJobs.fanOutQueue))
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM idempotency_keys") == 10)
    }
  }
}
