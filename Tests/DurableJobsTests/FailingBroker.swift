import Foundation
import DurableJobs
import DurableJobsTesting
import Locking

/// A broker that fails some calls for as long as a test wants.
struct FailingBroker: Broker {
  final class Switch: Sendable {
    private let queues = Locked<Set<QueueName>?>([])
    private let failures = Locked(0)
    /// The number of failed calls.
    var count: Int { failures.withLock { $0 } }
    /// - Parameter queue: nil for every queue.
    func start(in queue: QueueName? = nil) { queues.withLock { $0 = queue.map { [$0] } } }
    func stop() { queues.withLock { $0 = [] } }
    func pass(_ queue: QueueName) throws {
      guard queues.withLock({ $0?.contains(queue) ?? true }) else { return }
      failures.withLock { $0 += 1 }
      throw BrokerError(.unavailable, "it does not answer")
    }
  }

  /// Makes calls hang, as with a stalled server.
  final class Silence: Sendable {
    private let state = Locked((isOn: false, waiters: [CheckedContinuation<Void, Never>]()))
    /// The number of hanging calls.
    var waits: Int { state.withLock { $0.waiters.count } }
    func start() { state.withLock { $0.isOn = true } }
    func stop() {
      let waiters = state.withLock { state in
        defer { state = (false, []) }
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }
    func pass() async {
      await withCheckedContinuation { waiter in
        let waits = state.withLock { state in
          if state.isOn { state.waiters.append(waiter) }
          return state.isOn
        }
        if !waits { waiter.resume() }
      }
    }
  }

  struct Consumer: BrokerConsumer {
    let base: InMemoryConsumer
    let queue: QueueName
    let releases: Switch
    let begins: Switch
    var epoch: String { get async { await base.epoch } }
    func claim(_ count: Int, wait: Duration) async throws -> [Claim] { await base.claim(count, wait: wait) }
    func stopClaiming() async { await base.stopClaiming() }
    func wakeClaim() async { await base.wakeClaim() }
    func acknowledge(_ claims: [Claim]) async throws { await base.acknowledge(claims) }
    func retry(_ retries: [ClaimRetry]) async throws { await base.retry(retries) }
    func release(_ claims: [Claim]) async throws {
      try releases.pass(queue)
      await base.release(claims)
    }
    func begin(_ claims: [Claim]) async throws -> Set<String> {
      try begins.pass(queue)
      return await base.begin(claims)
    }
    func releaseUnreceived(_ receipts: [String]) async throws { await base.releaseUnreceived(receipts) }
    func heartbeat(listingHeld lists: Bool) async throws -> Heartbeat { await base.heartbeat(listingHeld: lists) }
    func leave() async throws { await base.leave() }
  }

  let base: InMemoryBroker
  let pushes = Switch()
  let silence = Silence()
  let pauseSilence = Silence()
  let questions = Switch()
  let releases = Switch()
  let begins = Switch()
  init(_ base: InMemoryBroker) { self.base = base }
  func push(_ jobs: [JobRecord]) async throws {
    for job in jobs { try pushes.pass(job.queue) }
    await silence.pass()
    await base.push(jobs)
  }
  func join(_ queue: QueueName, worker: String, lease: Duration) async throws -> Consumer {
    Consumer(
      base: await base.join(queue, worker: worker, lease: lease), queue: queue, releases: releases, begins: begins)
  }
  func missing(_ ids: [JobID], in queue: QueueName) async throws -> [JobID] {
    try questions.pass(queue)
    return await base.missing(ids, in: queue)
  }
  func depth(of queue: QueueName) async throws -> QueueDepth { await base.depth(of: queue) }
  func remove(_ ids: [JobID], from queue: QueueName) async throws -> [JobID] { await base.remove(ids, from: queue) }
  func reschedule(_ ids: [JobID], in queue: QueueName, to due: Date) async throws -> [JobID] {
    await base.reschedule(ids, in: queue, to: due)
  }
  func clear(_ queue: QueueName) async throws -> Int { await base.clear(queue) }
  func rememberPause(_ isPaused: Bool, of queue: QueueName) async throws {
    await pauseSilence.pass()
    await base.rememberPause(isPaused, of: queue)
  }
  func remembersPause(of queue: QueueName) async throws -> Bool { await base.remembersPause(of: queue) }
}
