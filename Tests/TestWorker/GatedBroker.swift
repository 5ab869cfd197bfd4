import Foundation
import DurableJobs
import DurableJobsRedis
import LibPQClient

/// An advisory lock that a test holds for as long as the worker should wait.
struct Gate: Sendable {
  let key: Int
  let pool: PostgresPool

  /// Waits until the gate is free.
  func pass() async throws {
    try await pool.transaction { transaction in
      _ = try await transaction.query("SELECT pg_advisory_xact_lock_shared(\(key))", timeout: .seconds(600))
    }
  }
}

/// The broker on Redis, except that workers wait at a gate before they acknowledge.
struct GatedBroker: Broker {
  let base: RedisBroker
  let gate: Gate?

  var executor: (any TaskExecutor)? { base.executor }

  func push(_ jobs: [JobRecord]) async throws { try await base.push(jobs) }

  func repush(_ jobs: [JobRecord]) async throws { try await base.repush(jobs) }
  func hold(of queue: QueueName) async throws -> Date? { try await base.hold(of: queue) }
  func endHold(of queue: QueueName) async throws { try await base.endHold(of: queue) }

  func join(_ queue: QueueName, worker: String, lease: Duration) async throws -> GatedConsumer {
    GatedConsumer(base: try await base.join(queue, worker: worker, lease: lease), gate: gate)
  }

  func missing(_ ids: [JobID], in queue: QueueName) async throws -> [JobID] { try await base.missing(ids, in: queue) }

  func depth(of queue: QueueName) async throws -> QueueDepth { try await base.depth(of: queue) }

  func remove(_ ids: [JobID], from queue: QueueName) async throws -> [JobID] {
    try await base.remove(ids, from: queue)
  }

  func reschedule(_ ids: [JobID], in queue: QueueName, to due: Date) async throws -> [JobID] {
    try await base.reschedule(ids, in: queue, to: due)
  }

  func clear(_ queue: QueueName) async throws -> Int { try await base.clear(queue) }

  func rememberPause(_ isPaused: Bool, of queue: QueueName) async throws {
    try await base.rememberPause(isPaused, of: queue)
  }

  func remembersPause(of queue: QueueName) async throws -> Bool { try await base.remembersPause(of: queue) }
}

struct GatedConsumer: BrokerConsumer {
  let base: RedisConsumer
  let gate: Gate?

  var epoch: String { get async { await base.epoch } }

  func claim(_ count: Int, wait: Duration) async throws -> [Claim] { try await base.claim(count, wait: wait) }

  func stopClaiming() async { await base.stopClaiming() }

  func wakeClaim() async { await base.wakeClaim() }

  func acknowledge(_ claims: [Claim]) async throws {
    try await gate?.pass()
    try await base.acknowledge(claims)
  }

  func retry(_ retries: [ClaimRetry]) async throws { try await base.retry(retries) }

  func release(_ claims: [Claim]) async throws { try await base.release(claims) }

  func begin(_ claims: [Claim]) async throws -> Set<String> { try await base.begin(claims) }

  func releaseUnreceived(_ receipts: [String]) async throws { try await base.releaseUnreceived(receipts) }

  func heartbeat(listingHeld lists: Bool) async throws -> Heartbeat { try await base.heartbeat(listingHeld: lists) }

  func leave() async throws { try await base.leave() }
}
