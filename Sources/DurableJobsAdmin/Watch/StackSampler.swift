import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import Logging

/// Samples the stack. A sample costs the same however many jobs wait: the broker's own figures, a row per worker, the
/// last minutes' counts. Only `count` scans the ledger.
actor StackSampler {
  private let database: JobsDatabase
  private let broker: RedisBroker
  private let known: [QueueName]
  private let kinds: Set<String>
  private let gauges: [StackWatch.Gauges]
  private let autoscaling: Autoscaling
  private let usualConcurrency: Double
  private let logger: Logger

  /// Earlier readings, from which the next sample derives the changes.
  private struct Past {
    var at: Date
    var inHand: Int
    var load: QueueLoad
  }
  private var past: [String: Past] = [:]
  /// nil before the first sample.
  private var minutes: [Minute: LedgerFacts.Minute]?
  private var counts: Counts?
  /// The indexes of the app's gauges that could not be read.
  private var failing: Set<Int> = []
  /// Whether the broker failed to answer in this sample, and in the one before.
  private var isBrokerAway = false
  private var wasBrokerAway = false

  /// Caps the sample, so invented queue names cannot grow it.
  private static let maxQueues = 100

  /// - Parameters:
  ///   - known: the queues to include even if they are empty.
  ///   - kinds: the kinds that are counted by name.
  ///   - gauges: the app's; one that throws is left out of a sample.
  ///   - usualConcurrency: the assumed concurrency of a worker on a queue that has none.
  init(
    _ database: JobsDatabase, broker: RedisBroker, known: [QueueName], kinds: Set<String>, gauges: [StackWatch.Gauges],
    autoscaling: Autoscaling, usualConcurrency: Int, logger: Logger
  ) {
    self.database = database
    self.broker = broker
    self.known = known
    self.kinds = kinds
    self.gauges = gauges
    self.autoscaling = autoscaling
    self.usualConcurrency = Double(usualConcurrency)
    self.logger = logger
  }

  /// Continues from another process's sample, so that its view of the load is not lost.
  func resume(from sample: StackSample) {
    for queue in sample.queues {
      past[queue.queue] = Past(at: sample.at, inHand: queue.ready + queue.claimed, load: queue.load)
    }
  }

  func sample(at now: Date) async throws -> StackSample {
    let facts = try await database.facts()
    var sample = StackSample(at: now)
    sample.jobs = counts?.jobs
    sample.oldestSnapshot = facts.oldestSnapshot
    sample.gauges = try await gauges(at: now)
    isBrokerAway = false
    sample.broker = await memory()
    let ended = note(facts.minutes)
    let queues = queues(facts)
    let backlogs = await backlogs(of: queues)
    for queue in queues {
      var seen = StackSample.QueueSample(queue: queue.rawValue)
      let workers = facts.workers[queue.rawValue]
      seen.workers = workers?.count ?? 0
      seen.concurrency = workers.map { Double($0.concurrency) / Double(max(1, $0.count)) }
      seen.oldestRunning = facts.running[queue.rawValue].map { max(0, now.timeIntervalSince($0)) }
      seen.isPaused = facts.paused.contains(queue.rawValue)
      seen.debt = counts?.debt[queue.rawValue]
      try await measure(at: queue, backlogs[queue], &seen, now)
      estimate(&seen, ended[queue.rawValue], now)
      sample.queues.append(seen)
    }
    if isBrokerAway { sample.broker = nil }
    wasBrokerAway = isBrokerAway
    return sample
  }

  /// The app's gauges. One that fails is left out: the others, the queues and the alarms are still read.
  private func gauges(at now: Date) async throws -> [StackSample.Gauge] {
    var read: [StackSample.Gauge] = []
    for (place, gauge) in gauges.enumerated() {
      do {
        read += try await gauge(database.pool, now)
        failing.remove(place)
      } catch {
        try Task.checkCancellation()
        if failing.insert(place).inserted {
          logger.warning("cannot read the app's figures", metadata: [LogKeys.error: "\(error)"])
        }
      }
    }
    return read
  }

  private func queues(_ facts: LedgerFacts) -> [QueueName] {
    var names = Set(known.map(\.rawValue)).union(facts.alarmed)
    for name in Array(facts.workers.keys) + Array(counts?.debt.keys ?? [:].keys) + facts.minutes.map(\.queue)
    where names.count < Self.maxQueues { names.insert(name) }
    return names.map { QueueName(rawValue: $0) }.sorted()
  }

  /// The broker's figures for all queues, requested concurrently; queues without an answer are left out.
  private func backlogs(of queues: [QueueName]) async -> [QueueName: RedisBroker.Backlog] {
    if isBrokerAway { return [:] }
    return await withTaskGroup(of: (QueueName, RedisBroker.Backlog?).self) { group in
      for queue in queues {
        group.addTask { (queue, await self.ask { try await self.broker.backlog(of: queue) }) }
      }
      var backlogs: [QueueName: RedisBroker.Backlog] = [:]
      for await (queue, backlog) in group { backlogs[queue] = backlog }
      return backlogs
    }
  }

  /// Fills in the broker's figures for a queue; without them, the age of the oldest job pending there.
  private func measure(
    at queue: QueueName, _ backlog: RedisBroker.Backlog?, _ seen: inout StackSample.QueueSample, _ now: Date
  ) async throws {
    guard let backlog else {
      seen.oldestWaiting = try await database.oldestPending(in: queue).map {
        max(0, now.timeIntervalSince1970 - Double($0.milliseconds) / 1000)
      }
      return
    }
    (seen.ready, seen.claimed, seen.delayed) = (backlog.ready, backlog.claimed, backlog.delayed)
    seen.oldestWaiting = backlog.oldestReadyAt.map { max(0, now.timeIntervalSince($0)) }
  }

  /// The first request to the broker in a sample. If the broker is down, the others are skipped, since each would only
  /// time out.
  private func memory() async -> StackSample.BrokerMemory? {
    await ask { try await self.broker.memory() }.map {
      StackSample.BrokerMemory(used: $0.usedMemory, limit: $0.memoryLimit)
    }
  }

  private func ask<Answer: Sendable>(_ question: @Sendable () async throws -> Answer) async -> Answer? {
    do {
      return try await question()
    } catch {
      if !isBrokerAway, !wasBrokerAway {
        logger.warning("cannot query the broker", metadata: [LogKeys.error: "\(error)"])
      }
      isBrokerAway = true
      return nil
    }
  }

  // MARK: Load

  private struct Minute: Hashable {
    let queue: String
    let start: Int
  }

  /// Ended attempts and their total run time.
  private struct Ended {
    var attempts = 0
    var runSeconds = 0.0
  }

  /// The attempts that ended since the last sample, from the growth of the current minutes' counts.
  private func note(_ seen: [LedgerFacts.Minute]) -> [String: Ended] {
    let known = minutes
    minutes = Dictionary(uniqueKeysWithValues: seen.map { (Minute(queue: $0.queue, start: $0.start), $0) })
    guard let known else { return [:] }
    var new: [String: Ended] = [:]
    for minute in seen {
      let before = known[Minute(queue: minute.queue, start: minute.start)]
      new[minute.queue, default: Ended()].attempts += max(0, minute.ended - (before?.ended ?? 0))
      new[minute.queue, default: Ended()].runSeconds += max(0, minute.runSeconds - (before?.runSeconds ?? 0))
    }
    return new
  }

  private func estimate(_ seen: inout StackSample.QueueSample, _ ended: Ended?, _ now: Date) {
    let inHand = seen.ready + seen.claimed
    var load = past[seen.queue]?.load ?? QueueLoad()
    if let before = past[seen.queue], !isBrokerAway {
      load.note(
        QueueLoad.Flow(
          seconds: now.timeIntervalSince(before.at), ended: ended?.attempts ?? 0, runSeconds: ended?.runSeconds ?? 0,
          growth: inHand - before.inHand), halfLife: autoscaling.halfLife)
    }
    if !isBrokerAway { past[seen.queue] = Past(at: now, inHand: inHand, load: load) }
    seen.load = load
    seen.wanted = autoscaling.wanted(
      load, ready: seen.ready, claimed: seen.claimed, concurrency: seen.concurrency ?? usualConcurrency,
      longest: seen.oldestRunning)
  }

  // MARK: Counts

  private struct Counts {
    var jobs: [StackSample.JobCount]
    var debt: [String: Int]
  }

  /// Counts pending and dead jobs with a scan of the ledger.
  func count() async throws {
    let rows = try await database.jobCounts()
    var jobs: [[String]: Int] = [:]
    var pending: [String: Int] = [:]
    for row in rows {
      let (queue, kind) = (row.queue.rawValue, row.kind.rawValue)
      let state = row.state.map(\.rawValue) ?? JobState.dead.rawValue
      if let state = row.state, state != .parked { pending[queue, default: 0] += row.count }
      jobs[[queue, kinds.contains(kind) ? kind : "other", state], default: 0] += row.count
    }
    var debt: [String: Int] = [:]
    for queue in Set(known.map(\.rawValue)).union(pending.keys).sorted().prefix(Self.maxQueues) {
      // Without pending jobs, the broker need not be asked.
      guard let pending = pending[queue] else {
        debt[queue] = 0
        continue
      }
      debt[queue] = max(0, pending - (try await broker.knownCount(in: QueueName(rawValue: queue))))
    }
    counts = Counts(
      jobs: jobs.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
        StackSample.JobCount(queue: $0.key[0], kind: $0.key[1], state: $0.key[2], jobs: $0.value)
      }, debt: debt)
  }
}
