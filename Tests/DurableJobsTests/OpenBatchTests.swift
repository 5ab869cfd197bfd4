import DurableJobs
import DurableJobsTesting
import Testing

/// Batches whose handlers end their jobs themselves.
@Suite(.timeLimit(.minutes(5))) struct OpenBatchTests {
  private let stage = Stage()

  private func run(
    _ numbers: Range<Int>, concurrency: Int = 32,
    _ handler: @escaping @Sendable (JobBatch<Numbered, InMemoryLedger>) async throws -> Void
  ) async throws {
    var registry = Stage.Registry()
    registry.registerBatch(Numbered.self, upTo: 16, handler: handler)
    try await stage.client.enqueue(numbers.map { Numbered(number: $0) })
    try await stage.work(registry, Stage.configuration(concurrency: concurrency)) { _ in try await stage.settled() }
  }

  @Test func aHandlerEndsItsJobsInPieces() async throws {
    let sizes = Journal<Int>()
    try await run(0..<200) { batch in
      sizes.note(batch.jobs.count)
      for pair in batch.jobs.chunks(of: 2) {
        try await batch.transaction(ending: pair) { live, transaction in
          try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
        }
      }
    }
    #expect(try stage.effects() == Array(0..<200))
    #expect(sizes.entries.allSatisfy { $0 <= 16 } && sizes.entries.contains { $0 > 1 })
    #expect(stage.ledger.dead.isEmpty)
  }

  @Test func aJobThatFailsIsTriedAgainAloneAndTheOthersAreDone() async throws {
    let attempts = Journal<Int>()
    try await run(0..<32) { batch in
      for job in batch.jobs where job.job.number == 13 {
        attempts.note(job.attempt)
        batch.fail(job, Failure("no luck"))
      }
      try await batch.transaction(ending: batch.jobs.filter { $0.job.number != 13 }) { live, transaction in
        try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
      }
    }
    #expect(try stage.effects() == (0..<32).filter { $0 != 13 })
    #expect(attempts.entries == [1, 2, 3])
    #expect(stage.ledger.dead.map(\.attempts) == [3])
    #expect(stage.ledger.dead.first?.record.failures.map(\.error) == Array(repeating: "no luck", count: 3))
  }

  @Test func whatHadEndedWhenTheHandlerFailedStaysEnded() async throws {
    let runs = Journal<[Int]>()
    try await run(0..<10) { batch in
      runs.note(batch.jobs.map(\.job.number))
      try await batch.transaction(ending: Array(batch.jobs.prefix(1))) { live, transaction in
        try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
      }
      if batch.jobs.count > 1 { throw Failure("after the first") }
    }
    let effects = try stage.effects()
    #expect(Set(effects).count == effects.count)
    // Each run ended one job, and no handler ran an ended one; jobs left over three times are dead.
    #expect(effects.count + stage.ledger.dead.count == 10)
    #expect(runs.entries.count >= effects.count)
  }

  @Test func aTransactionThatFailsEndsNothing() async throws {
    try await run(0..<4) { batch in
      do {
        try await batch.transaction(ending: batch.jobs) { live, transaction in
          try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
          throw Failure("undone")
        }
      } catch {
        if batch.jobs.contains(where: { $0.attempt < 3 }) { throw error }
      }
      try await batch.transaction(ending: batch.jobs) { live, transaction in
        try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
      }
    }
    #expect(try stage.effects() == [0, 1, 2, 3])
  }

  @Test func jobsThatAHandlerLeavesAreDone() async throws {
    try await run(0..<40) { _ in }
    #expect(stage.ledger.pendingCount == 0 && stage.ledger.dead.isEmpty)
  }

  @Test func whatDoesNotDecodeIsDeadAndTheOthersRun() async throws {
    var registry = Stage.Registry()
    let numbers = Journal<Int>()
    registry.registerBatch(Numbered.self, upTo: 16) { batch in
      for job in batch.jobs { numbers.note(job.job.number) }
    }
    let records = (0..<12).map { number -> JobRecord in
      .test(number == 5 ? "{}" : "{\"number\": \(number)}", kind: Numbered.kind)
    }
    try await stage.client.transaction { _ = try await $0.add(records) }
    try await stage.work(registry, Stage.configuration(concurrency: 32)) { _ in try await stage.settled() }
    #expect(numbers.entries.sorted() == (0..<12).filter { $0 != 5 })
    #expect(stage.ledger.dead.count == 1)
  }

  @Test func onlyWhatIsStillOwedTakesEffect() async throws {
    let stage = stage
    try await run(0..<20) { batch in
      // Another delivery ends the even ones first.
      let even = batch.jobs.filter { $0.job.number % 2 == 0 }
      try await stage.ledger.complete(even.map(\.id), queue: .default)
      try await batch.transaction(ending: batch.jobs) { live, transaction in
        try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
      }
    }
    #expect(try stage.effects() == (0..<20).filter { $0 % 2 == 1 })
    #expect(stage.ledger.dead.isEmpty)
  }
}

extension Array {
  fileprivate func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
