import DurableJobs

/// A promise that every broker keeps.
public typealias BrokerCheck = ConformanceCheck<BrokerUnderTest>

/// The promises of every `Broker` implementation.
public enum BrokerConformance {
  public static let checks =
    BrokerPushChecks.all + BrokerClaimChecks.all + BrokerLeaseChecks.all + BrokerPayloadChecks.all
    + BrokerAdminChecks.all
}

/// A broker under test.
public struct BrokerUnderTest: Sendable {
  let broker: any Broker
  let forgetEverything: @Sendable () async throws -> Void

  /// - Parameters:
  ///   - broker: a broker without any job or consumer.
  ///   - forgetEverything: clears the broker's data, as when a server loses it.
  public init(broker: any Broker, forgetEverything: @escaping @Sendable () async throws -> Void) {
    self.broker = broker
    self.forgetEverything = forgetEverything
  }

  /// Long enough that no lease expires while a check runs on a slow machine.
  static let longLease = Duration.seconds(120)

  func join(
    _ worker: String = "a", queue: QueueName = .default, lease: Duration = longLease
  ) async throws -> any BrokerConsumer {
    try await broker.join(queue, worker: worker, lease: lease)
  }

  func counts(_ queue: QueueName = .default) async throws -> QueueCounts { try await broker.depth(of: queue).counts }
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

  /// Claims the jobs that are ready now.
  func claimNow(_ count: Int = 100) async throws -> [Claim] { try await claim(count, wait: .milliseconds(1)) }
}

func milliseconds(fromNow duration: Duration) -> Int64 {
  JobID.next().milliseconds + duration.components.seconds * 1000
    + duration.components.attoseconds / 1_000_000_000_000_000
}
