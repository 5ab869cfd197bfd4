import DurableJobs
import DurableJobsTesting
import Logging
import Testing

/// The outsider's own broker, which keeps jobs like the in-memory one.
@Suite(.timeLimit(.minutes(5))) struct OutsiderTests {
  private struct Mail: Job {
    static let kind: JobKind = "outsider.mail"
    var number: Int
  }

  @Test(arguments: BrokerConformance.checks)
  func brokerConforms(_ check: BrokerCheck) async throws {
    let broker = InMemoryBroker()
    try await check.run(on: BrokerUnderTest(broker: broker) { await broker.forgetEverything() })
  }

  @Test func aPromiseThatIsBrokenIsNamed() async throws {
    let check = try #require(BrokerConformance.checks.first { $0.description.contains("begins a new epoch") })
    let broker = InMemoryBroker()
    let error = await #expect(throws: ConformanceFailure.self) {
      try await check.run(on: BrokerUnderTest(broker: broker) {})
    }
    #expect(error?.description.contains("BrokerLeaseChecks.swift") == true)
  }

  @Test func aHandlerRunsInMemory() async throws {
    let (broker, ledger) = (InMemoryBroker(), InMemoryLedger())
    let logger = Logger(label: "outsider") { _ in SwiftLogNoOpLogHandler() }
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Mail.self) { _, context in try await context.transaction { _ in } }
    let worker = Worker(
      broker: broker, ledger: ledger, registry: registry, configuration: WorkerConfiguration(queues: [.default: 1]),
      logger: logger)
    try await JobClient(broker: broker, ledger: ledger, logger: logger).enqueue(Mail(number: 1))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      while ledger.pendingCount > 0 { await Task.yield() }
      group.cancelAll()
    }
    #expect(ledger.dead.isEmpty)
  }
}
