import DurableJobs
import DurableJobsTesting
import Foundation
import JobsTestSupport
import Locking
import TestSupport
import Testing

/// What an enqueuer says about single jobs.
@Suite(.timeLimit(.minutes(5))) struct JobOptionsTests {
  private struct Patient: Job {
    static let kind: JobKind = "test.patient"
    static let timeout: Duration? = nil
    static let retry = RetryPolicy(maxAttempts: 100, base: .milliseconds(1), cap: .milliseconds(1))
  }

  private struct Broken: Error {}

  private let stage = Stage()

  private func record(_ options: JobOptions) async throws -> JobRecord {
    let id = try #require(try await stage.client.enqueue(Patient(), options: options))
    return try #require(stage.ledger.records([id], queue: .default).first)
  }

  @Test func aDelayCountsFromEnqueueing() async throws {
    let options = JobOptions(delay: .minutes(5))
    for _ in 0..<2 {
      let before = JobClock.now
      let due = try #require(try await record(options).runAt)
      #expect((299.9...301).contains(due.timeIntervalSince(before)))
    }
    #expect(try await record(JobOptions()).runAt == nil)
    #expect(
      (Duration.minutes(2), Duration.hours(2), Duration.days(2)) == (.seconds(120), .seconds(7200), .seconds(172_800)))
  }

  @Test func aTimeIsKeptToTheMillisecond() async throws {
    let due = Date(timeIntervalSince1970: 4_000_000_000.1239)
    #expect(try await record(JobOptions(at: due)).runAt.map { abs($0.timeIntervalSince(due)) < 0.001 } == true)
  }

  @Test func contradictionsAndImpossibleLimitsAreRefused() async throws {
    let mistakes: [(JobOptions, String)] = [
      (JobOptions(delay: .seconds(1), at: .now), "give one of them"),
      (JobOptions(maxAttempts: 0), "use 1 to 65535"), (JobOptions(maxAttempts: 65_536), "use 1 to 65535"),
      (JobOptions(timeout: .zero), "use 1 ms or more"), (JobOptions(timeout: .seconds(-1)), "use 1 ms or more"),
    ]
    for (options, remedy) in mistakes {
      let error = await #expect(throws: InvalidJob.self) { try await stage.client.enqueue(Patient(), options: options) }
      #expect(error?.description.contains(remedy) == true, "\(error as Any)")
      await #expect(throws: InvalidJob.self) { try await stage.client.push(Patient(), options: options) }
    }
    #expect(stage.ledger.pendingCount == 0)
  }

  @Test(arguments: [true, false]) func aJobsOwnAttemptsHold(isDurable: Bool) async throws {
    let attempts = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Patient.self) { _, context in
      attempts.note(context.attempt)
      throw Broken()
    }
    let options = JobOptions(maxAttempts: 2)
    try await stage.work(registry) { _ in
      if isDurable {
        try await stage.client.enqueue(Patient(), options: options)
      } else {
        try await stage.client.push(Patient(), options: options)
      }
      try await eventually("it is dead") { stage.ledger.dead.count == 1 }
    }
    #expect(attempts.entries == [1, 2])
  }

  @Test func aJobsOwnTimeLimitHolds() async throws {
    var registry = Stage.Registry()
    registry.register(Patient.self) { _, _ in try await Task.sleep(for: .seconds(600)) }
    try await stage.work(registry) { _ in
      try await stage.client.enqueue(Patient(), options: JobOptions(maxAttempts: 1, timeout: .milliseconds(20)))
      try await eventually("it is dead") { stage.ledger.dead.count == 1 }
    }
    let error = try #require(stage.ledger.dead.first?.failure.error)
    #expect(error == "it ran longer than its limit of 0.02 seconds and was cancelled")
  }
}
