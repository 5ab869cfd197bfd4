import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import Locking
import Logging
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct MiddlewareTests {
  private struct Refused: Error, Equatable {}

  /// Notes its calls under a name.
  private struct Noting: JobMiddleware {
    let name: String
    let journal: Journal<String>
    var hooks = JobHooks.all

    func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID] {
      journal.note("\(name) enqueues \(jobs.count)")
      return try await next(jobs)
    }

    func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws {
      journal.note("\(name) begins \(attempt.claims.count)")
      do {
        try await next()
      } catch {
        journal.note("\(name) sees \(error)")
        throw error
      }
      journal.note("\(name) is through")
    }

    func ended(_ end: AttemptEnd, logger: Logger) { journal.note("\(name) hears \(end.outcome)") }
  }

  /// Changes what is enqueued.
  private struct Changing: JobMiddleware {
    var hooks: JobHooks { .enqueue }

    func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID] {
      if jobs.contains(where: { $0.text.contains("13") }) { throw Refused() }
      var kept = jobs.filter { !$0.text.contains("7") }
      for index in kept.indices { kept[index].priority = .high }
      return try await next(kept)
    }
  }

  private let journal = Journal<String>()

  private func queue(_ middleware: [any JobMiddleware], _ handler: @escaping @Sendable (Int) throws -> Void = { _ in })
    -> TestQueue<InMemoryLedger>
  {
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Numbered.self) { job, context in
      try handler(job.number)
      try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
    }
    return TestQueue(registry, middleware: middleware)
  }

  @Test func theFirstIsTheOutermostAroundEverything() async throws {
    let queue = queue([Noting(name: "a", journal: journal), Noting(name: "b", journal: journal)])
    try await queue.client.enqueue(Numbered(number: 1))
    try await queue.drain()
    #expect(
      journal.entries == [
        "a enqueues 1", "b enqueues 1", "a begins 1", "b begins 1", "a enqueues 1", "b enqueues 1", "b is through",
        "a is through", "a hears completed", "b hears completed",
      ])
  }

  @Test func onlyNamedHooksAreCalled() async throws {
    let queue = queue([
      Noting(name: "e", journal: journal, hooks: .enqueue), Noting(name: "r", journal: journal, hooks: .run),
      Noting(name: "h", journal: journal, hooks: .ended),
    ])
    try await queue.client.enqueue(Numbered(number: 1))
    try await queue.drain()
    #expect(
      journal.entries == ["e enqueues 1", "r begins 1", "e enqueues 1", "r is through", "h hears completed"])
  }

  @Test func enqueuesAreChangedFilteredAndRefused() async throws {
    let queue = queue([Changing()])
    let ids = try await queue.client.enqueue([6, 7, 8].map { Numbered(number: $0) })
    #expect(ids.count == 2)
    #expect(try await queue.enqueued(Numbered.self).map(\.number) == [6, 8])
    #expect(try await queue.records(of: Numbered.self).allSatisfy { $0.priority == .high })
    #expect(try await queue.client.enqueue(Numbered(number: 7)) == nil)
    await #expect(throws: Refused()) { try await queue.client.enqueue(Numbered(number: 13)) }
    // In a transaction nothing of it stays.
    await #expect(throws: Refused()) {
      try await queue.client.transaction { transaction in
        try await transaction.enqueue(Numbered(number: 1))
        try await transaction.enqueue(Numbered(number: 13))
      }
    }
    try await queue.client.push(Numbered(number: 9))
    await #expect(throws: Refused()) { try await queue.client.push(Numbered(number: 13)) }
    #expect(try await queue.enqueued(Numbered.self).map(\.number) == [6, 8, 9])
  }

  @Test func aPushThatIsLeftOutHasNoID() async throws {
    let queue = queue([Changing()])
    let ids = try await queue.client.push([6, 7, 8].map { Numbered(number: $0) })
    #expect(ids.count == 2)
    #expect(try await queue.records(of: Numbered.self).map(\.id) == ids)
    #expect(try await queue.client.push(Numbered(number: 7)) == nil)
  }

  /// A dead letter was let in under the limit of its time.
  @Test func aRetriedDeadLetterIsNotMeasuredAgain() async throws {
    let queue = queue([Noting(name: "a", journal: journal)])
    let large = JobRecord(
      kind: Numbered.kind, queue: Numbered.queue, payload: Array(repeating: 0x20, count: PayloadLimit.job + 1),
      isDurable: true)
    await #expect(throws: InvalidJob.self) { try await queue.client.transaction { try await $0.add([large]) } }
    #expect(try await queue.client.transaction { try await $0.readd([large]) } == [large.id])
  }

  /// It may ask for what no enqueue could.
  @Test func aChangeIsCheckedLikeAnyJob() async throws {
    struct Spoiling: JobMiddleware {
      func enqueue(_ jobs: [JobRecord], next: ([JobRecord]) async throws -> [JobID]) async throws -> [JobID] {
        var jobs = jobs
        jobs[0].queue = "no such name"
        return try await next(jobs)
      }
    }
    let queue = queue([Spoiling()])
    await #expect(throws: InvalidJob.self) { try await queue.client.enqueue(Numbered(number: 1)) }
    #expect(queue.ledger.pendingCount == 0)
  }

  @Test func errorsPassThroughAndAreTheHandlersOwn() async throws {
    let queue = queue([Noting(name: "a", journal: journal)]) { _ in throw Refused() }
    try await queue.client.enqueue(Numbered(number: 1), options: JobOptions(maxAttempts: 2))
    #expect(try await queue.drain(upTo: .days(1)) == Drained(failed: 1, dead: 1))
    #expect(
      journal.entries == [
        "a enqueues 1", "a begins 1", "a sees Refused()", "a hears failed", "a begins 1", "a sees Refused()",
        "a hears dead",
      ])
  }

  @Test func aMiddlewareSnoozesAndDiscards() async throws {
    struct Limiting: JobMiddleware {
      var hooks: JobHooks { .run }
      let calls: Journal<Int>

      func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws {
        calls.note(attempt.claims[0].attempt)
        if calls.entries.count == 1 { throw JobSnooze(for: .minutes(1)) }
        throw JobDiscard("over the limit")
      }
    }
    let calls = Journal<Int>()
    let queue = queue([Limiting(calls: calls)])
    try await queue.client.enqueue(Numbered(number: 1))
    #expect(try await queue.drain(upTo: .days(1)) == Drained(discarded: 1, snoozed: 1))
    #expect(calls.entries == [1, 1])
    #expect(queue.ledger.ended.first?.record.failures.map(\.error) == ["over the limit"])
  }

  @Test(arguments: [false, true]) func aBatchIsOneCall(isOpen: Bool) async throws {
    var registry = JobRegistry<InMemoryLedger>()
    if isOpen {
      registry.registerBatch(Numbered.self, upTo: 10) { (batch: JobBatch<Numbered, InMemoryLedger>) in
        try await batch.transaction(ending: batch.jobs) { live, transaction in
          try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
        }
      }
    } else {
      registry.registerBatch(Numbered.self, upTo: 10) { jobs, transaction in
        try await transaction.enqueue(jobs.map { Effect(number: $0.job.number) })
      }
    }
    let queue = TestQueue(registry, middleware: [Noting(name: "a", journal: journal)])
    try await queue.client.enqueue([1, 2, 3].map { Numbered(number: $0) })
    #expect(try await queue.drain() == Drained(completed: 3))
    let begun = journal.entries.compactMap { $0.hasPrefix("a begins") ? Int($0.dropFirst(9)) : nil }
    #expect(begun.reduce(0, +) == 3)
    #expect(journal.entries.count { $0 == "a hears completed" } == 3)
    #expect(journal.entries.filter { $0.hasPrefix("a enqueues") }.first == "a enqueues 3")
  }

  @Test func kindsAreServedOnceEach() async throws {
    struct Serving: JobMiddleware {
      let journal: Journal<String>
      func serving(_ kind: JobKind, in queue: QueueName, isHome: Bool) -> any JobMiddleware {
        journal.note("\(kind) in \(queue)\(isHome ? ", its own" : "")")
        return Noting(name: kind.rawValue, journal: journal, hooks: .ended)
      }
    }
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Numbered.self) { _, _ in }
    registry.register(Effect.self) { _, _ in }
    let queue = TestQueue(registry, middleware: [Serving(journal: journal)])
    try await queue.client.enqueue(Numbered(number: 1))
    try await queue.client.enqueue(Effect(number: 1))
    try await queue.drain()
    let served = journal.entries.filter { $0.contains(" in ") }
    #expect(served.count == 4 && Set(served).count == 4)
    #expect(served.contains("\(Numbered.kind) in \(Numbered.queue), its own"))
    #expect(
      Set(journal.entries.suffix(2)) == ["\(Numbered.kind) hears completed", "\(Effect.kind) hears completed"])
  }
}
