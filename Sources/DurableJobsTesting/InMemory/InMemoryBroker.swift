#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DequeModule
import DurableJobs

/// An in-process broker, for tests of handlers and for experiments. It keeps every promise of `Broker` except those
/// that need another process.
public actor InMemoryBroker: Broker {
  struct Queue {
    var ready: [JobPriority: Deque<Ready>] = [:]
    /// Jobs handed back by consumers: they precede others of their priority, since they have waited already.
    var returned: [JobPriority: Deque<Ready>] = [:]
    var claimed: [String: Claimed] = [:]
    var delayed: [(due: ContinuousClock.Instant, record: JobRecord)] = []
    var known: Set<JobID> = []
    var leases: [String: ContinuousClock.Instant] = [:]
    var epoch = "\(JobID.next())"
    var waiters: Deque<Waiter> = []
    /// When a consumer last renewed its lease.
    var heartbeatAt: ContinuousClock.Instant?
    var isPaused = false

    var readyCount: Int { ready.values.reduce(0) { $0 + $1.count } + returned.values.reduce(0) { $0 + $1.count } }
  }

  struct Ready {
    var record: JobRecord
    /// Milliseconds since 1970.
    var since: Int64
  }

  struct Claimed {
    var record: JobRecord
    var attempt: Int
    var consumer: String
    var since: ContinuousClock.Instant
    /// Whether its job has begun.
    var isBegun = false
  }

  struct Taken {
    var ready: Ready
    var attempt: Int
    var receipt: String
    var isRedelivered: Bool
  }

  struct Waiter {
    let number: Int
    let consumer: String
    let continuation: CheckedContinuation<Void, Never>
  }

  var queues: [QueueName: Queue] = [:]
  private var lastNumber = 0
  let clock: any WallClock

  /// Creates an empty broker.
  ///
  /// - Parameter clock: for leases and delays.
  public init(clock: any WallClock = .system) { self.clock = clock }

  public func push(_ jobs: [JobRecord]) {
    for job in jobs.carried {
      if job.isDurable, !queues[job.queue, default: Queue()].known.insert(job.id).inserted { continue }
      let wait = (job.runAt?.unixMilliseconds ?? 0) - clock.now.unixMilliseconds
      if wait > 0 {
        queues[job.queue, default: Queue()].delayed.append((clock.instant + .milliseconds(wait), job))
      } else {
        makeReady(job)
      }
    }
  }

  public func join(_ queue: QueueName, worker: String, lease: Duration) -> InMemoryConsumer {
    queues[queue, default: Queue()].leases[worker] = clock.instant + lease
    return InMemoryConsumer(broker: self, queue: queue, worker: worker, lease: lease)
  }

  public func missing(_ ids: [JobID], in queue: QueueName) -> [JobID] {
    ids.filter { !queues[queue, default: Queue()].known.contains($0) }
  }

  /// Loses all data, like a server that restarts without persistence.
  public func forgetEverything() {
    for (name, queue) in queues {
      for waiter in queue.waiters { waiter.continuation.resume() }
      queues[name] = Queue()
    }
  }

  /// Makes the delayed jobs of a queue ready at once, so that a test need not wait.
  public func promote(_ queue: QueueName) {
    let delayed = queues[queue]?.delayed ?? []
    queues[queue]?.delayed = []
    for (_, record) in delayed { makeReady(record) }
  }

  /// The number of a queue's claims that are marked as begun.
  public func begunCount(in queue: QueueName) -> Int { queues[queue]?.claimed.values.count { $0.isBegun } ?? 0 }

  // MARK: For the consumer

  func epoch(of queue: QueueName) -> String { queues[queue, default: Queue()].epoch }

  /// - Returns: nil for a consumer without a lease, which has to rejoin before it claims.
  func claim(_ count: Int, from name: QueueName, as consumer: String) -> [Taken]? {
    var queue = queues[name, default: Queue()]
    guard queue.leases[consumer] != nil else { return nil }
    var taken: [Taken] = []
    var bytes = 0
    // At most a batch of bytes, but at least one job.
    func next(_ jobs: inout Deque<Ready>) -> Ready? {
      guard taken.count < count, let size = jobs.first?.record.payload.count else { return nil }
      bytes += size
      return taken.isEmpty || bytes <= PayloadLimit.batch ? jobs.popFirst() : nil
    }
    func take(_ ready: Ready, isRedelivered: Bool) {
      let receipt = "\(JobID.next())"
      let attempt = ready.record.attempts + 1
      queue.claimed[receipt] = Claimed(
        record: ready.record, attempt: attempt, consumer: consumer, since: clock.instant)
      taken.append(Taken(ready: ready, attempt: attempt, receipt: receipt, isRedelivered: isRedelivered))
    }
    for priority in JobPriority.allCases {
      while let ready = next(&queue.returned[priority, default: []]) {
        take(ready, isRedelivered: true)
      }
      while let ready = next(&queue.ready[priority, default: []]) {
        take(ready, isRedelivered: false)
      }
    }
    queues[name] = queue
    return taken
  }

  func begin(_ receipts: [String], in queue: QueueName, as consumer: String) -> Set<String> {
    let own = receipts.filter { queues[queue]?.claimed[$0]?.consumer == consumer }
    for receipt in own { queues[queue]?.claimed[receipt]?.isBegun = true }
    return Set(own)
  }

  /// Waits until a job may be ready, `wait` has passed or the consumer's wait is interrupted.
  func awaitReady(_ name: QueueName, as consumer: String, wait: Duration) async {
    if queues[name, default: Queue()].readyCount > 0 { return }
    lastNumber += 1
    let number = lastNumber
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        // Cancellation ends the sleep early, and with it the wait.
        do { try await self.clock.sleep(for: wait) } catch {}
        await self.wakeClaim(name) { $0.number == number }
      }
      await withCheckedContinuation { continuation in
        queues[name, default: Queue()].waiters.append(
          Waiter(number: number, consumer: consumer, continuation: continuation))
      }
      group.cancelAll()
    }
  }

  func wakeClaim(_ name: QueueName, where isMeant: (Waiter) -> Bool) {
    guard let ended = queues[name]?.waiters.filter(isMeant) else { return }
    queues[name]?.waiters.removeAll(where: isMeant)
    for waiter in ended { waiter.continuation.resume() }
  }

  func acknowledge(_ claims: [Claim], in queue: QueueName) {
    for claim in claims {
      queues[queue]?.claimed[claim.receipt] = nil
      queues[queue]?.known.remove(claim.record.id)
    }
  }

  func retry(_ retries: [ClaimRetry], in queue: QueueName, as consumer: String) {
    for retry in retries where queues[queue]?.claimed[retry.claim.receipt]?.consumer == consumer {
      queues[queue]?.claimed[retry.claim.receipt] = nil
      queues[queue]?.delayed.append((clock.instant + retry.delay, retry.record.carried))
    }
  }

  func release(_ receipts: [String], in queue: QueueName, as consumer: String) {
    for receipt in receipts {
      guard let claimed = queues[queue]?.claimed[receipt], claimed.consumer == consumer else { continue }
      queues[queue]?.claimed[receipt] = nil
      var record = claimed.record
      record.attempts = claimed.attempt - 1
      makeReady(record, isReturned: true)
    }
  }

  func heartbeat(_ name: QueueName, as consumer: String, lease: Duration, listingHeld lists: Bool) -> Heartbeat {
    let now = clock.instant
    let kept = queues[name]?.leases[consumer] != nil
    // A long time without renewals means that the broker was unreachable, which expires no lease.
    if let before = queues[name]?.heartbeatAt, now - before > lease / 2 {
      for other in queues[name]?.leases.keys.map({ $0 }) ?? [] { queues[name]?.leases[other] = now + lease }
    }
    queues[name, default: Queue()].heartbeatAt = now
    queues[name, default: Queue()].leases[consumer] = now + lease
    var reaped = 0
    for (dead, end) in queues[name]?.leases ?? [:] where end <= now {
      queues[name]?.leases[dead] = nil
      for (receipt, claimed) in queues[name]?.claimed ?? [:] where claimed.consumer == dead {
        queues[name]?.claimed[receipt] = nil
        var record = claimed.record
        record.attempts = claimed.isBegun ? claimed.attempt : claimed.attempt - 1
        makeReady(record, isReturned: true)
        reaped += 1
      }
    }
    promoteDue(in: name)
    let held =
      lists ? queues[name]?.claimed.filter { $0.value.consumer == consumer && now - $0.value.since > lease } : nil
    var ends = queues[name]?.delayed.map(\.due) ?? []
    // Live consumers renew their leases long before that.
    ends += queues[name]?.leases.values.filter { $0 - now <= lease / 3 } ?? []
    return Heartbeat(
      keptLease: kept, incarnation: 0, nextDue: ends.min().map { $0 - now }, reaped: reaped,
      held: held.map { Array($0.keys) } ?? [])
  }

  /// Makes due delayed jobs ready.
  func promoteDue(in name: QueueName) {
    let now = clock.instant
    let due = queues[name]?.delayed.filter { $0.due <= now } ?? []
    queues[name]?.delayed.removeAll { $0.due <= now }
    for (_, record) in due.sorted(by: { $0.due < $1.due }) { makeReady(record) }
  }

  func leave(_ name: QueueName, as consumer: String) {
    let held = queues[name]?.claimed.filter { $0.value.consumer == consumer }.map(\.key) ?? []
    release(held, in: name, as: consumer)
    queues[name]?.leases[consumer] = nil
  }

  func makeReady(_ record: JobRecord, isReturned: Bool = false) {
    let ready = Ready(record: record, since: clock.now.unixMilliseconds)
    if isReturned {
      queues[record.queue, default: Queue()].returned[record.priority, default: []].append(ready)
    } else {
      queues[record.queue, default: Queue()].ready[record.priority, default: []].append(ready)
    }
    // Wakes all: a single woken one may have been interrupted meanwhile, and the others would keep sleeping.
    wakeClaim(record.queue) { _ in true }
  }
}

/// A worker's access to a queue of the in-memory broker.
public actor InMemoryConsumer: BrokerConsumer {
  private let broker: InMemoryBroker
  private let queue: QueueName
  private let worker: String
  private let lease: Duration
  private var incarnation = 0
  private var isInterrupted = false

  init(broker: InMemoryBroker, queue: QueueName, worker: String, lease: Duration) {
    self.broker = broker
    self.queue = queue
    self.worker = worker
    self.lease = lease
  }

  public var epoch: String { get async { await broker.epoch(of: queue) } }

  public func claim(_ count: Int, wait: Duration) async -> [Claim] {
    if isInterrupted { return [] }
    let taken = await claimNow(count)
    if !taken.isEmpty { return taken }
    await broker.awaitReady(queue, as: worker, wait: wait)
    return isInterrupted ? [] : await claimNow(count)
  }

  private func claimNow(_ count: Int) async -> [Claim] {
    while true {
      let life = incarnation
      if let taken = await broker.claim(count, from: queue, as: worker) {
        return taken.map { taken in
          Claim(
            record: taken.ready.record, attempt: taken.attempt, receipt: taken.receipt, incarnation: life,
            readyAt: Date(unixMilliseconds: taken.ready.since), isRedelivered: taken.isRedelivered)
        }
      }
      _ = await heartbeat(listingHeld: false)
    }
  }

  public func stopClaiming() async {
    isInterrupted = true
    await broker.wakeClaim(queue) { [worker] in $0.consumer == worker }
  }

  public func wakeClaim() async { await broker.wakeClaim(queue) { [worker] in $0.consumer == worker } }

  public func acknowledge(_ claims: [Claim]) async { await broker.acknowledge(claims, in: queue) }

  public func retry(_ retries: [ClaimRetry]) async { await broker.retry(retries, in: queue, as: worker) }

  public func release(_ claims: [Claim]) async {
    await broker.release(claims.map(\.receipt), in: queue, as: worker)
  }

  public func begin(_ claims: [Claim]) async -> Set<String> {
    await broker.begin(claims.map(\.receipt), in: queue, as: worker)
  }

  public func releaseUnreceived(_ receipts: [String]) async {
    await broker.release(receipts, in: queue, as: worker)
  }

  public func heartbeat(listingHeld lists: Bool) async -> Heartbeat {
    // A heartbeat that finds the lease gone starts a new incarnation; later claims belong to that one.
    var heartbeat = await broker.heartbeat(queue, as: worker, lease: lease, listingHeld: lists)
    if !heartbeat.keptLease { incarnation += 1 }
    heartbeat.incarnation = incarnation
    return heartbeat
  }

  public func leave() async { await broker.leave(queue, as: worker) }
}

extension InMemoryBroker {
  public func depth(of name: QueueName) -> QueueDepth {
    let queue = queues[name, default: Queue()]
    func count(_ priority: JobPriority) -> Int {
      (queue.returned[priority]?.count ?? 0) + (queue.ready[priority]?.count ?? 0)
    }
    let heads = queue.ready.values.compactMap(\.first?.since) + queue.returned.values.compactMap(\.first?.since)
    return QueueDepth(
      high: count(.high), normal: count(.normal), low: count(.low), claimed: queue.claimed.count,
      delayed: queue.delayed.count, known: queue.known.count, workers: queue.leases.count,
      oldestReadyAt: heads.min().map { Date(unixMilliseconds: $0) })
  }

  public func remove(_ ids: [JobID], from name: QueueName) -> [JobID] {
    take(Set(ids), from: name).map(\.id)
  }

  public func reschedule(_ ids: [JobID], in name: QueueName, to due: Date) -> [JobID] {
    let wait = due.unixMilliseconds - clock.now.unixMilliseconds
    var wanted = Set(ids)
    var moved: [JobID] = []
    if wait <= 0 {
      // A job that is already ready keeps its place.
      let ready = readyIDs(name).filter(wanted.contains)
      moved += ready
      wanted.subtract(ready)
    }
    for record in take(wanted, from: name) {
      if record.isDurable { queues[name]?.known.insert(record.id) }
      if wait > 0 {
        queues[name]?.delayed.append((clock.instant + .milliseconds(wait), record))
      } else {
        makeReady(record)
      }
      moved.append(record.id)
    }
    return moved
  }

  public func clear(_ name: QueueName) -> Int {
    let all = readyIDs(name) + (queues[name]?.delayed ?? []).map(\.record.id)
    return take(Set(all), from: name).count
  }

  public func rememberPause(_ isPaused: Bool, of name: QueueName) {
    queues[name, default: Queue()].isPaused = isPaused
  }

  public func remembersPause(of name: QueueName) -> Bool { queues[name]?.isPaused ?? false }

  private func readyIDs(_ name: QueueName) -> [JobID] {
    let queue = queues[name, default: Queue()]
    return queue.ready.values.joined().map(\.record.id) + queue.returned.values.joined().map(\.record.id)
  }

  /// Removes unclaimed jobs.
  private func take(_ ids: Set<JobID>, from name: QueueName) -> [JobRecord] {
    var taken: [JobRecord] = []
    for priority in JobPriority.allCases {
      taken += queues[name]?.ready[priority]?.filter { ids.contains($0.record.id) }.map(\.record) ?? []
      queues[name]?.ready[priority]?.removeAll { ids.contains($0.record.id) }
      taken += queues[name]?.returned[priority]?.filter { ids.contains($0.record.id) }.map(\.record) ?? []
      queues[name]?.returned[priority]?.removeAll { ids.contains($0.record.id) }
    }
    taken += queues[name]?.delayed.filter { ids.contains($0.record.id) }.map(\.record) ?? []
    queues[name]?.delayed.removeAll { ids.contains($0.record.id) }
    for record in taken { queues[name]?.known.remove(record.id) }
    return taken
  }
}
