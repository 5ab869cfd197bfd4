import DurableJobs
import DurableJobsTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct BatchTests {
  private let stage = Stage()

  /// Runs `jobs` as one batch kind and returns the numbers of each run, in order.
  private func runs(
    of records: [JobRecord], upTo limit: Int = 64, failing: @escaping @Sendable ([Int]) -> Bool
  ) async throws -> [[Int]] {
    let runs = Journal<[Int]>()
    var registry = Stage.Registry()
    registry.registerBatch(Numbered.self, upTo: limit) { batch, transaction in
      let numbers = batch.map(\.job.number)
      runs.note(numbers)
      try await transaction.enqueue(numbers.map { Effect(number: $0) })
      if failing(numbers) { throw Failure("a bad job") }
    }
    try await stage.client.transaction { _ = try await $0.add(records) }
    // One at a time, and a handful of claims: the records arrive together.
    try await stage.work(registry, Stage.configuration(concurrency: 32)) { _ in try await stage.settled() }
    return runs.entries
  }

  private func records(_ numbers: Range<Int>) -> [JobRecord] {
    numbers.map { .test("{\"number\": \($0)}", kind: Numbered.kind) }
  }

  @Test func jobsOfAKindRunTogether() async throws {
    let runs = try await runs(of: records(0..<600), upTo: 50) { _ in false }
    #expect(runs.allSatisfy { $0.count <= 50 })
    #expect(runs.contains { $0.count == 50 })
    #expect(runs.joined().sorted() == Array(0..<600))
    #expect(try stage.effects() == Array(0..<600))
  }

  @Test func oneBadJobDoesNotTakeItsNeighboursAlong() async throws {
    let runs = try await runs(of: records(0..<32)) { $0.contains(13) }
    let good = (0..<32).filter { $0 != 13 }
    #expect(try stage.effects() == good)
    // The neighbours succeeded at the first attempt: only the bad job is retried, alone, and is dead after its third.
    #expect(runs.count { $0 == [13] } == 3)
    #expect(stage.ledger.dead.map(\.attempts) == [3])
    #expect(stage.ledger.dead.first?.record.failures.map(\.error) == Array(repeating: "a bad job", count: 3))
    for number in 0..<32 where number != 13 {
      #expect(runs.count { $0.contains(number) && !$0.contains(13) } == 1)
    }
  }

  @Test func whatDoesNotDecodeIsTakenOutBeforeTheOthersRun() async throws {
    var all = records(0..<30)
    for bad in [3, 17] { all[bad].payload = Array("{}".utf8) }
    let runs = try await runs(of: all) { _ in false }
    let sound = (0..<30).filter { number in number != 3 && number != 17 }
    #expect(runs.joined().sorted() == sound)
    #expect(stage.ledger.dead.count == 2)
    for dead in stage.ledger.dead {
      #expect(dead.attempts == 1)
      #expect(
        dead.record.failures.map(\.error) == ["the payload of test.numbered does not decode: field 'number' is missing"]
      )
    }
  }

  @Test func fleetingJobsRunInBatchesToo() async throws {
    let numbers = Journal<Int>()
    var registry = Stage.Registry()
    registry.registerBatch(Numbered.self, upTo: 10) { batch, _ in
      for job in batch { numbers.note(job.job.number) }
    }
    try await stage.client.push((0..<95).map { Numbered(number: $0) })
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(numbers.entries.sorted() == Array(0..<95))
  }
}
