import Foundation
import DurableJobsTesting
import JobsTestSupport
import Locking
import Logging
import TestSupport
import Testing

@testable import DurableJobs

@Suite(.timeLimit(.minutes(5))) struct WorkerPartsTests {
  private let stage = Stage()

  private func executor<L: Ledger>(
    _ registry: JobRegistry<L>, _ ledger: L
  ) -> JobExecutor<InMemoryBroker, L> {
    JobExecutor(
      queue: .default, worker: "w", registry: registry,
      client: JobClient(broker: stage.broker, ledger: ledger, logger: .quiet), logger: .quiet)
  }

  private func claim(_ number: Int, _ record: JobRecord? = nil) -> Claim {
    let record = record ?? .test("{\"number\": \(number)}", kind: Numbered.kind)
    return Claim(record: record, attempt: 1, receipt: "\(JobID.next())", incarnation: 0)
  }

  @Test func aDoubleDeliveryTakesEffectOnce() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      _ = try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
    }
    let first = claim(1)
    let again = claim(1, first.record)
    try await stage.ledger.withTransaction { _ = try await stage.ledger.add([first.record], in: $0) }
    let executor = executor(registry, stage.ledger)
    async let one = executor.run(.single(first))
    async let other = executor.run(.single(again))
    var held = 0
    for var outcomes in await [one, other] {
      // A job that meets the other's open transaction is handed back, and runs again.
      if case .handBack? = outcomes.first {
        held += 1
        outcomes = await executor.run(.single(again))
      }
      #expect(outcomes.count == 1)
      guard case .acknowledge? = outcomes.first else {
        Issue.record("not acknowledged")
        continue
      }
    }
    #expect(held <= 1)
    #expect(try stage.effects() == [1])
    // The effect was also pushed.
    #expect(await stage.counts("effects").ready == 1)
  }

  @Test func whatIsHandedBackComesAgainAfterAPauseAndIsNoAttempt() async throws {
    let consumer = await stage.broker.join(.default, worker: "w", lease: .seconds(60))
    await stage.broker.push([.test("1")])
    let claims = await consumer.claim(1, wait: .seconds(5))
    let settler = Settler(queue: .default, ledger: stage.ledger, consumer: consumer, clock: .system, logger: .quiet)
    await settler.settle(claims.map { EndedClaim(claim: $0, outcome: .handBack(reason: "busy")) }, until: StopSignal())
    #expect(await stage.counts().delayed == 1)
    let due = try #require(await consumer.heartbeat(listingHeld: false).nextDue)
    #expect(due <= .milliseconds(500), "who holds its row may let go at any moment")
    var again: [Claim] = []
    try await eventually("it is ready again") {
      _ = await consumer.heartbeat(listingHeld: false)
      again = await consumer.claim(1, wait: .milliseconds(1))
      return !again.isEmpty
    }
    #expect(again.map(\.attempt) == [1])
  }

  @Test func twoDeliveriesInOneBatchTakeEffectOnce() async throws {
    var registry = Stage.Registry()
    registry.registerBatch(Numbered.self, upTo: 10) { batch, transaction in
      try await transaction.enqueue(batch.map { Effect(number: $0.job.number) })
    }
    let first = claim(1)
    let claims = [first, claim(2), claim(1, first.record)]
    try await stage.ledger.withTransaction { [records = claims.map(\.record)] in
      _ = try await stage.ledger.add(Array(records.prefix(2)), in: $0)
    }
    let outcomes = await executor(registry, stage.ledger).run(.batch(claims))
    #expect(outcomes.count == 3)
    for outcome in outcomes {
      guard case .acknowledge = outcome else {
        Issue.record("\(outcome)")
        continue
      }
    }
    #expect(try stage.effects() == [1, 2])
  }

  @Test func aLedgerThatIsAwayIsAskedOnceForABatch() async throws {
    var registry = JobRegistry<AwayLedger>()
    registry.registerBatch(Numbered.self, upTo: 64) { _, _ in Issue.record("there is no transaction to run in") }
    let ledger = AwayLedger()
    let outcomes = await executor(registry, ledger).run(.batch((0..<64).map { claim($0) }))
    #expect(outcomes.count { $0.attempt == .failed } == 64)
    #expect(ledger.asked.withLock { $0 } == 1)
  }

  @Test func jobsOfEachTransactionOfAHandlerArePushed() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      // A fleeting job has no row to end, so it may use two transactions.
      try await context.transaction { try await $0.enqueue(Effect(number: 1)) }
      try await context.transaction { try await $0.enqueue(Effect(number: 2)) }
    }
    let record = JobRecord.test("{\"number\": 1}", kind: Numbered.kind, isDurable: false)
    _ = await executor(registry, stage.ledger).run(.single(claim(1, record)))
    #expect(await stage.counts("effects").ready == 2)
  }

  @Test func aRolledBackTransactionLeavesNothing() async throws {
    await #expect(throws: Failure.self) {
      try await stage.client.transaction { transaction in
        try await transaction.enqueue((0..<5).map { Numbered(number: $0) })
        throw Failure("changed its mind")
      }
    }
    #expect(stage.ledger.pendingCount == 0)
    #expect(await stage.counts() == QueueCounts())
  }

  @Test func onlyWhatTheUniqueKeyLetsThroughIsPushed() async throws {
    let options = JobOptions(uniqueKey: "k")
    let first = try await stage.client.enqueue(Numbered(number: 1), options: options)
    let second = try await stage.client.enqueue(Numbered(number: 2), options: options)
    #expect(first != nil)
    #expect(second == nil)
    #expect(await stage.counts().ready == 1)
  }

  @Test func jobsWhosePushFailedArePushedByTheRelay() async throws {
    let deaf = FailingBroker(stage.broker)
    deaf.pushes.start()
    let client = JobClient(broker: deaf, ledger: stage.ledger, logger: .quiet)
    try await client.enqueue((0..<2500).map { Numbered(number: $0) })
    #expect(await stage.counts().ready == 0)
    #expect(stage.ledger.pendingCount == 2500)
    let journal = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, _ in journal.note(job.number) }
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(journal.entries.sorted() == Array(0..<2500))
  }

  /// In a cluster one queue's master may be unavailable while the others' are not.
  @Test func theRelayOfAQueueThatIsAwayHoldsUpNoOther() async throws {
    let failing = FailingBroker(stage.broker)
    failing.pushes.start()
    let client = JobClient(broker: failing, ledger: stage.ledger, logger: .quiet)
    for queue in ["a", "b", "c"] as [QueueName] {
      try await client.enqueue(Numbered(number: 1), options: JobOptions(queue: queue))
    }
    failing.pushes.stop()
    failing.questions.start(in: "a")
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in }
    var configuration = Stage.configuration()
    configuration.queues = ["a": 1, "b": 1, "c": 1]
    let worker = Worker(
      broker: failing, ledger: stage.ledger, registry: registry, configuration: configuration, logger: .quiet)
    try await RunningWorker.run(worker) { _ in
      try await stage.settled("b")
      try await stage.settled("c")
      #expect(stage.ledger.pendingCount(in: "a") == 1)
      failing.questions.stop()
      try await stage.settled("a")
    }
  }

  @Test func theBrokerForgetsNothingThatTheLedgerHasNotTakenIn() async throws {
    let consumer = await stage.broker.join(.default, worker: "w", lease: .seconds(120))
    await stage.broker.push((0..<4).map { .test("\($0)", isDurable: false) })
    let claims = await consumer.claim(4, wait: .zero)
    let stop = StopSignal()
    stop.stop()
    let settler = Settler(queue: .default, ledger: AwayLedger(), consumer: consumer, clock: .system, logger: .quiet)
    let failure = JobFailure(attempt: 1, at: .init(unixMilliseconds: 0), error: "no", worker: "w")
    let outcomes: [JobOutcome] = [.park, .deadLetter(failure), .complete, .acknowledge]
    await settler.settle(zip(claims, outcomes).map { EndedClaim(claim: $0, outcome: $1) }, until: stop)
    #expect(await stage.counts().claimed == 3)
  }
}

/// A ledger that cannot be reached.
private struct AwayLedger: Ledger {
  struct Transaction: Sendable {}
  let asked = Locked(0)
  private let error = Failure("the ledger is away")

  func withTransaction<Result: Sendable>(
    _ body: @Sendable (Transaction) async throws -> Result
  ) async throws -> Result {
    asked.withLock { $0 += 1 }
    throw error
  }
  func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID] { throw error }
  func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> Completion {
    throw error
  }
  func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] { throw error }
  func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID] { throw error }
  func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID] { throw error }
  func discard(_ discarded: [DeadJob]) async throws -> [JobID] { throw error }
  func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID] { throw error }
  func deadLetter(_ dead: [DeadJob]) async throws -> [JobID] { throw error }
  func park(_ jobs: [JobRecord]) async throws -> [JobID] { throw error }
  func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int { throw error }
  func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID] { throw error }
  func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID] { throw error }
  func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) async throws -> [JobID] { throw error }
  func refuse(_ refusals: [JobID: String], queue: QueueName) async throws { throw error }
  func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] { throw error }
  func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] { throw error }
  func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws { throw error }
  func ping(within limit: Duration) async throws {}
}

extension JobExecutor {
  /// The outcomes of the claims of a work item with a single kind.
  fileprivate func run(_ content: WorkItem.Content) async -> [JobOutcome] {
    switch await run(WorkItem(content, kind: 0), cutoff: { nil }) {
    case .one(let outcome): [outcome]
    case .each(let outcomes): outcomes
    }
  }
}
