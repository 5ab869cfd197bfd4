import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct RandomizedWorkerTests {
  @Test func eachEffectHappensExactlyOnce() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    let broker = InMemoryBroker()
    let ledger = InMemoryLedger()
    let storm = ExactlyOnce(broker: broker, ledger: ledger, seed: seed, jobs: 600) {
      await broker.forgetEverything()
    }
    let effects = try await storm.run()
    #expect(effects == Array(0..<600), "seed \(seed)")
    #expect(ledger.dead.isEmpty, "seed \(seed)")
  }
}
