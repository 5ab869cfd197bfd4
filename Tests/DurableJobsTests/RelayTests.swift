import DurableJobsTesting
import JobsTestSupport
import Locking
import Logging
import TestSupport
import Testing

@testable import DurableJobs

/// The relay beside a worker, on an in-memory broker and ledger.
@Suite(.timeLimit(.minutes(5))) struct RelayTests {
  private let stage = Stage()

  private func registry(_ journal: Journal<Int>) -> Stage.Registry {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in journal.note(job.number) }
    return registry
  }

  private func record(_ number: Int, queue: QueueName = .default) throws -> JobRecord {
    try JobRecord(Numbered(number: number), options: JobOptions(queue: queue), isDurable: true)
  }

  private func owe(_ records: [JobRecord]) async throws {
    try await stage.ledger.withTransaction { _ = try await stage.ledger.add(records, in: $0) }
  }

  @Test func anIDFromTheFutureIsPushed() async throws {
    var future = try record(1)
    // Made by a clock that was an hour ahead.
    future.id = JobID(high: future.id.high + UInt64(3_600_000) << 16, low: future.id.low)
    try await owe([future])
    let journal = Journal<Int>()
    try await stage.work(registry(journal)) { _ in try await stage.settled() }
    #expect(journal.entries == [1])
  }

  @Test func aJobThatCannotBePushedHoldsUpNoOther() async throws {
    var records = try (0..<20).map { try record($0) }
    // Values that this program would never write.
    records[7].kind = JobKind(rawValue: String(repeating: "k", count: 300))
    records[11].version = 70_000
    try await owe(records)
    let journal = Journal<Int>()
    let log = Locked<[String]>([])
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: registry(journal), configuration: Stage.configuration(),
      logger: Logger(label: "test") { _ in LogRecorder(log) })
    try await RunningWorker.run(worker) { _ in
      try await eventually("the others are done") { stage.ledger.pendingCount == 2 }
      try await eventually("both are reported") { stage.ledger.refusals.count == 2 }
      // Later jobs are not blocked either.
      try await owe([try record(20)])
      try await eventually("a later one is done") { stage.ledger.pendingCount == 2 && journal.entries.contains(20) }
    }
    #expect(journal.entries.sorted() == (0...20).filter { $0 != 7 && $0 != 11 })
    #expect(stage.ledger.refusals[records[11].id]?.contains("70000") == true)
    #expect(log.withLock { $0 }.filter { $0.contains("cannot push a pending job") }.count == 2, "each is said once")
  }

  @Test func queuesComeBackTogether() async throws {
    // The first queue by name has a large backlog, unknown to the broker.
    try await owe(try (0..<30_000).map { try record($0, queue: "a") })
    try await owe([try record(30_000, queue: "b")])
    let journal = Journal<Int>()
    var configuration = Stage.configuration()
    configuration.queues = ["a": 1, "b": 1]
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: registry(journal), configuration: configuration,
      logger: .quiet)
    try await RunningWorker.run(worker) { _ in
      try await eventually("the other queue's job is done") { stage.ledger.pendingCount(in: "b") == 0 }
      #expect(stage.ledger.pendingCount(in: "a") > 0, "without a wait for the backlog")
    }
  }

  /// A leader that is cut off only from the broker, while the ledger still considers it alive.
  @Test func aLeaderThatDoesNotReachTheBrokerLeadsNoMore() async throws {
    let journal = Journal<Int>()
    let cut = FailingBroker(stage.broker)
    let leader = Worker(
      broker: cut, ledger: stage.ledger, registry: registry(journal), configuration: Stage.configuration(),
      logger: .quiet)
    try await RunningWorker.run(leader) { _ in
      try await owe([try record(1)])
      try await eventually("it leads") { journal.entries == [1] }
      cut.questions.start()
      try await stage.work(registry(journal)) { _ in
        try await owe([try record(2)])
        try await eventually("the other one leads") { journal.entries.contains(2) }
        cut.questions.stop()
      }
      try await owe([try record(3)])
      try await eventually("it leads once more") { journal.entries.contains(3) }
    }
    #expect(journal.entries == [1, 2, 3])
  }

  @Test func whatWasLostLatelyIsFoundFirst() async throws {
    // All of these wait, and the broker knows them: only the first one runs.
    let records = try (0..<100_000).map { try record($0) }
    try await owe(records)
    await stage.broker.push(records)
    let gate = Gate()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in try await gate.wait() }
    var configuration = Stage.configuration(concurrency: 1)
    configuration.relayInterval = .milliseconds(500)
    try await stage.work(registry, configuration) { worker in
      try await eventually("it is busy") { await stage.counts().claimed > 0 }
      let (new, elsewhere) = (try record(100_000), try record(100_001))
      var old = try record(100_002)
      old.id = JobID(high: records[10].id.high, low: 0)
      try await owe([old, new, elsewhere])
      func isKnown(_ record: JobRecord) async -> Bool {
        await stage.broker.missing([record.id], in: .default).isEmpty
      }
      try await eventually("the new ones are found", within: .seconds(15)) {
        let (one, other) = (await isKnown(new), await isKnown(elsewhere))
        return one && other
      }
      try await eventually("the old one is found, too") { await isKnown(old) }
      gate.open()
      await worker.stop()
    }
  }
}
