import DurableJobs
import DurableJobsTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct WorkerTests {
  private let stage = Stage()

  @Test func runsDurableAndFleetingJobsOnceEach() async throws {
    let journal = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      #expect(context.attempt == 1)
      journal.note(job.number)
    }
    try await stage.client.enqueue((0..<300).map { Numbered(number: $0) })
    try await stage.client.push((300..<600).map { Numbered(number: $0) })
    try await stage.work(registry) { _ in
      try await stage.client.enqueue(Numbered(number: 600))
      try await stage.settled()
    }
    #expect(journal.entries.sorted() == Array(0...600))
    #expect(stage.ledger.dead.isEmpty)
  }

  @Test(arguments: [true, false])
  func aJobThatFailsIsTriedAgainAndThenDeadWithAllErrors(isDurable: Bool) async throws {
    let attempts = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      attempts.note(context.attempt)
      throw Failure("error \(context.attempt)")
    }
    try await stage.work(registry) { _ in
      let id =
        isDurable
        ? try await stage.client.enqueue(Numbered(number: 1)) : try await stage.client.push(Numbered(number: 1))
      try await eventually("the job is dead") { stage.ledger.dead.map(\.record.id) == [id] }
      try await stage.settled()
    }
    #expect(attempts.entries == [1, 2, 3])
    let dead = try #require(stage.ledger.dead.first)
    #expect(dead.attempts == 3)
    #expect(dead.record.failures.map(\.error) == ["error 1", "error 2", "error 3"])
    #expect(dead.record.failures.map(\.attempt) == [1, 2, 3])
  }

  @Test func aFailedJobThatSucceedsLaterIsDone() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      if context.attempt < 3 { throw Failure("not yet") }
      try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
    }
    try await stage.work(registry) { _ in
      try await stage.client.enqueue((0..<20).map { Numbered(number: $0) })
      try await stage.settled()
    }
    #expect(stage.ledger.dead.isEmpty)
    #expect(try stage.effects() == Array(0..<20))
  }

  @Test func aPayloadThatDoesNotDecodeIsDeadAtOnceAndNamesTheField() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in Issue.record("there is no job to run: \(job)") }
    let record = JobRecord.test("{\"number\": \"secret\"}", kind: Numbered.kind)
    try await stage.client.transaction { _ = try await $0.add([record]) }
    try await stage.work(registry) { _ in try await stage.settled() }
    let dead = try #require(stage.ledger.dead.first)
    #expect(dead.attempts == 1)
    #expect(
      dead.record.failures.map(\.error)
        == ["the payload of test.numbered does not decode: field 'number' is not an integer"])
  }

  @Test func unknownKindsAndNewerVersionsWaitForAWorkerThatKnowsThem() async throws {
    struct Newer: Job {
      static let kind = Numbered.kind
      static let payloadVersion = 2
      var number: Int
    }
    struct Other: Job {
      static let kind: JobKind = "test.other"
      var number: Int
    }
    let journal = Journal<Int>()
    var old = Stage.Registry()
    old.register(Numbered.self) { job, _ in journal.note(job.number) }
    var new = Stage.Registry()
    new.register(Newer.self) { job, _ in journal.note(job.number) }
    new.register(Other.self) { job, _ in journal.note(job.number) }
    let newer = new

    try await stage.work(old) { _ in
      try await stage.client.enqueue(Newer(number: 1))
      try await stage.client.enqueue(Other(number: 2))
      try await stage.client.push(Other(number: 3))
      try await stage.client.enqueue(Numbered(number: 4))
      try await eventually("three jobs are parked") {
        let depth = await stage.counts()
        return stage.ledger.parkedCount == 3 && depth.ready + depth.claimed == 0
      }
      #expect(journal.entries == [4])
      // The new version's worker starts while the old one still runs and relays: both may get the jobs, and all get
      // done.
      try await stage.work(newer) { _ in
        try await eventually("all are done") { Set(journal.entries) == [1, 2, 3, 4] }
      }
    }
    #expect(journal.entries.sorted() == [1, 2, 3, 4])
    #expect(stage.ledger.dead.isEmpty)
  }

  @Test func aJobWhoseWorkersDieIsDeadAfterItsAttempts() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in Issue.record("it has had its attempts") }
    var record = JobRecord.test("{\"number\": 1}", kind: Numbered.kind)
    record.attempts = 3
    try await stage.client.transaction { [record] in _ = try await $0.add([record]) }
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(stage.ledger.dead.map(\.attempts) == [4])
    #expect(stage.ledger.dead.first?.record.failures.last?.error.contains("its worker's death") == true)
  }

  @Test func aTimeLimitCancelsTheHandlerAndCountsAsAFailure() async throws {
    struct Slow: Job {
      static let kind: JobKind = "test.slow"
      static let timeout: Duration? = .milliseconds(20)
      static let retry = RetryPolicy(maxAttempts: 2, base: .milliseconds(1), cap: .milliseconds(1))
      var number: Int
    }
    let journal = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Slow.self) { _, _ in try await Task.sleep(for: .seconds(3600)) }
    registry.register(Numbered.self) { job, _ in journal.note(job.number) }
    // One at a time: the worker has to continue after each cancellation, and its very first job needs a limit.
    try await stage.client.enqueue((0..<5).map { Slow(number: $0) })
    try await stage.client.enqueue(Numbered(number: 1))
    try await stage.work(registry, Stage.configuration(concurrency: 1)) { _ in try await stage.settled() }
    #expect(journal.entries == [1])
    #expect(stage.ledger.dead.count == 5)
    for dead in stage.ledger.dead {
      #expect(dead.record.failures.count == 2)
      #expect(dead.record.failures.allSatisfy { $0.error.hasPrefix("it ran longer than its limit of 0.02 seconds") })
    }
  }

  @Test func aJobThatIsDoneAlreadyIsNotRunAgain() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in Issue.record("it was done") }
    // A redelivery, as after a worker's death between commit and acknowledgement.
    var record = JobRecord.test("{\"number\": 1}", kind: Numbered.kind)
    record.attempts = 1
    await stage.broker.push([record])
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(stage.ledger.dead.isEmpty)
  }
}
