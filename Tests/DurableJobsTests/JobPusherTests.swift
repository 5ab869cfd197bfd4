import DurableJobsTesting
import JobsTestSupport
import Locking
import Logging
import ServiceLifecycle
import TestSupport
import Testing

@testable import DurableJobs

@Suite(.timeLimit(.minutes(2))) struct JobPusherTests {
  private typealias Client = JobClient<FailingBroker, InMemoryLedger>

  private let stage = Stage()
  private let broker: FailingBroker

  init() { broker = FailingBroker(stage.broker) }

  /// Runs a pusher until `body` has returned and it has been shut down.
  ///
  /// - Parameter meanwhile: called after the shutdown has been requested.
  private func run(
    _ body: @escaping @Sendable (Client) async throws -> Void, duringShutdown meanwhile: @Sendable () -> Void = {}
  ) async throws {
    let pusher = JobPusher(broker: broker, pause: .milliseconds(1), logger: .quiet)
    let client = Client(broker: broker, ledger: stage.ledger, pusher: pusher, logger: .quiet)
    let services = ServiceGroup(configuration: ServiceGroupConfiguration(services: [pusher], logger: .quiet))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await services.run() }
      try await body(client)
      await services.triggerGracefulShutdown()
      meanwhile()
      try await group.waitForAll()
    }
  }

  @Test func aBrokerThatDoesNotAnswerHoldsNobodyUp() async throws {
    try await run { [stage, broker] client in
      broker.silence.start()
      for number in 0..<100 { try await client.enqueue(Numbered(number: number)) }
      #expect(stage.ledger.pendingCount(in: .default) == 100)
      try await eventually("the first push waits") { broker.silence.waits == 1 }
      broker.silence.stop()
      try await eventually("all are pushed") { await stage.counts().ready == 100 }
    }
  }

  @Test func whatTheBrokerRefusesIsLeftToTheRelayAndTheNextIsPushed() async throws {
    try await run { [stage, broker] client in
      broker.pushes.start()
      try await client.enqueue(Numbered(number: 0))
      try await eventually("the push has failed") { broker.pushes.count > 0 }
      broker.pushes.stop()
      try await client.enqueue(Numbered(number: 1))
      try await eventually("the next is pushed") { await stage.counts().ready == 1 }
      #expect(stage.ledger.pendingCount(in: .default) == 2)
    }
  }

  @Test func withoutAPusherOneWarningTellsThatTheBrokerIsAway() async throws {
    let log = Locked<[String]>([])
    let client = Client(
      broker: broker, ledger: stage.ledger, logger: Logger(label: "client") { _ in LogRecorder(log) })
    func lines(_ begin: String) -> Int { log.withLock { $0.count { $0.hasPrefix(begin) } } }
    for round in 1...2 {
      broker.pushes.start()
      for number in 0..<5 { try await client.enqueue(Numbered(number: number)) }
      #expect(lines("warning jobs are pending but not pushed") == round)
      broker.pushes.stop()
      for number in 0..<5 { try await client.enqueue(Numbered(number: number)) }
      #expect(lines("info the broker answers again") == round)
    }
    #expect(lines("debug jobs are pending but not pushed") == 8)
  }

  @Test func whatWaitsAtTheEndIsPushed() async throws {
    try await run { [broker] client in
      broker.silence.start()
      for number in 0..<10 { try await client.enqueue(Numbered(number: number)) }
      try await eventually("the first push waits") { broker.silence.waits == 1 }
    } duringShutdown: {
      broker.silence.stop()
    }
    #expect(await stage.counts().ready == 10)
  }

  @Test func whatDoesNotFitIsLeftToTheRelay() async throws {
    let more = JobPusher<FailingBroker>.capacity + 10
    try await run { [stage, broker] client in
      broker.silence.start()
      try await client.enqueue(Numbered(number: 0))
      try await eventually("the first push waits") { broker.silence.waits == 1 }
      try await client.enqueue((1...more).map { Numbered(number: $0) })
      broker.silence.stop()
      try await eventually("as many as fit are pushed") { await stage.counts().ready == more - 9 }
    }
    #expect(await stage.counts().ready == more - 9)
    #expect(stage.ledger.pendingCount(in: .default) == more + 1)
  }
}
