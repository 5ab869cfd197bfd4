import DurableJobs
import JobsTestSupport

/// The brokers that the suite runs on.
enum BrokerKind: String, CaseIterable, Sendable {
  case memory, redis

  /// Runs `body` with a fresh broker.
  func with(_ body: @Sendable (BrokerFixture) async throws -> Void) async throws {
    switch self {
    case .memory:
      let broker = InMemoryBroker()
      try await body(BrokerFixture(broker: broker) { await broker.forgetEverything() })
    case .redis:
      try await RedisFixture.with { fixture in
        try await body(BrokerFixture(broker: fixture.broker) { try await fixture.forgetEverything() })
      }
    }
  }
}

struct BrokerFixture: Sendable {
  let broker: any Broker
  /// Takes the broker's memory away.
  let forgetEverything: @Sendable () async throws -> Void

  /// Long enough that no lease ends while a slow machine runs a test.
  static let longLease = Duration.seconds(120)

  func join(
    _ worker: String = "a", queue: QueueName = .default, lease: Duration = longLease
  ) async throws -> any BrokerConsumer {
    try await broker.join(queue, worker: worker, lease: lease)
  }

  func statistics(_ queue: QueueName = .default) async throws -> QueueStatistics {
    try await broker.statistics(of: queue)
  }
}

extension BrokerConsumer {
  /// Claims until `count` jobs have come.
  func claimAll(_ count: Int) async throws -> [Claim] {
    var claims: [Claim] = []
    try await eventually("\(count) jobs to claim") {
      claims += try await claim(count - claims.count, wait: .milliseconds(50))
      return claims.count >= count
    }
    return claims
  }

  /// Claims what is there now.
  func claimNow(_ count: Int = 100) async throws -> [Claim] { try await claim(count, wait: .milliseconds(1)) }
}

extension QueueStatistics {
  static let empty = QueueStatistics(ready: 0, claimed: 0, delayed: 0, workers: 0)
}

func milliseconds(fromNow duration: Duration) -> Int64 {
  JobID.next().milliseconds + duration.components.seconds * 1000
    + duration.components.attoseconds / 1_000_000_000_000_000
}
