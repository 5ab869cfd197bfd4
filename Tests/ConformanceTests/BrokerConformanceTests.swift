import DurableJobsTesting
import JobsTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct BrokerConformanceTests {
  @Test(arguments: BrokerConformance.checks)
  func inMemory(_ check: BrokerCheck) async throws {
    let broker = InMemoryBroker()
    try await check.run(on: BrokerUnderTest(broker: broker) { await broker.forgetEverything() })
  }

  @Test(arguments: BrokerConformance.checks)
  func redis(_ check: BrokerCheck) async throws {
    try await RedisFixture.with { fixture in
      try await check.run(on: BrokerUnderTest(broker: fixture.broker) { try await fixture.forgetEverything() })
    }
  }
}
