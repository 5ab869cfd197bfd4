#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Logging
import Metrics
import ServiceLifecycle

/// Fires schedules: enqueues a job at each tick.
///
/// Run one beside every worker. One of them leads, and if it dies another takes over within 5 seconds. Leadership does
/// not make a tick fire once, since two may briefly believe that they lead; the transaction of each firing does: it
/// locks the schedule's state, records the ticks under a unique key and enqueues their jobs, all or nothing.
///
/// `run()` runs until a graceful shutdown is requested.
public struct Scheduler<B: Broker, L: Ledger, Store: ScheduleStore>: Service where Store.Transaction == L.Transaction {
  private let schedules: [Schedule]
  private let client: JobClient<B, L>
  private let store: Store
  private let configuration: SchedulerConfiguration
  private let clock: any WallClock
  private let logger: Logger
  private let metrics: ScheduleMetrics

  /// The leadership role on the ledger.
  public static var role: String { "scheduler" }

  /// - Throws: `.name` if a name is invalid or occurs twice.
  public init(
    _ schedules: [Schedule], client: JobClient<B, L>, store: Store,
    configuration: SchedulerConfiguration = SchedulerConfiguration(), clock: any WallClock = .system, logger: Logger
  ) throws(ScheduleError) {
    try Schedule.check(schedules)
    self.schedules = schedules
    self.client = client
    self.store = store
    self.configuration = configuration
    self.clock = clock
    self.logger = logger
    metrics = ScheduleMetrics(schedules: schedules.map(\.name))
  }

  public func run() async throws {
    await cancelWhenGracefulShutdown {
      var backoff = Backoff()
      while !Task.isCancelled {
        do {
          try await client.ledger.lead(Self.role) { try await lead() }
        } catch {
          if Task.isCancelled { return }
          if backoff.isNews() {
            logger.warning("the scheduler was interrupted", metadata: [LogKeys.error: "\(error)"])
          }
        }
        await backoff.pause(until: nil)
      }
    }
  }

  /// Fires due ticks until cancelled: each schedule in a separate task, so that a blocked one delays no other.
  private func lead() async throws {
    logger.info("this process fires the schedules", metadata: [LogKeys.count: "\(schedules.count)"])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for schedule in schedules { group.addTask { try await attend(schedule) } }
      // Keeps leading even without schedules.
      if schedules.isEmpty { group.addTask { while true { try await sleep(until: nil) } } }
      try await group.waitForAll()
    }
  }

  /// Fires one schedule until cancelled.
  private func attend(_ schedule: Schedule) async throws {
    // Decides at once, to store the schedule and to handle missed ticks.
    var due: Int64? = .min
    // Ticks that may have to be pruned.
    var unpruned = configuration.pruneEvery
    var isFailing = false
    while true {
      if let moment = due, moment <= now {
        do {
          // Each firing gets a trace, which its jobs and the jobs they enqueue follow.
          let decision = try await TraceContext.begin().run { try await fire(schedule) }
          due = decision.next
          unpruned += decision.ticks.count
          if unpruned >= configuration.pruneEvery {
            try await prune(schedule.name)
            unpruned = 0
          }
          isFailing = false
        } catch {
          try Task.checkCancellation()
          if !isFailing {
            logger.error(
              "cannot fire a schedule; retrying",
              metadata: [LogKeys.schedule: "\(schedule.name)", LogKeys.error: "\(error)"])
          }
          isFailing = true
          due = now + configuration.retryAfter.milliseconds
        }
      }
      try await sleep(until: due)
    }
  }

  /// - Parameter moment: nil if nothing is scheduled.
  private func sleep(until moment: Int64?) async throws {
    try await clock.sleep(until: Date(unixMilliseconds: moment ?? now + 3_600_000))
  }

  /// Fires a schedule's due ticks in one transaction.
  func fire(_ schedule: Schedule) async throws -> Decision {
    let decision = try await client.transaction { transaction in
      let kept = try await store.lock(
        ScheduleState(beginning: schedule, at: Date(unixMilliseconds: now)), in: transaction.sql)
      // The time after the lock was acquired: another leader may have decided meanwhile.
      var decision = Decision(schedule, kept, now: now, grace: configuration.grace.milliseconds)
      if decision.isTakenBack {
        // Ticks that fired far too early fire again when due.
        let moment = now + configuration.grace.milliseconds
        try await store.forget(ticksAfter: Date(unixMilliseconds: moment), of: schedule.name, in: transaction.sql)
      }
      let records = try decision.ticks.map {
        try schedule.job(at: Tick(schedule: schedule.name, time: Date(unixMilliseconds: $0)))
      }
      if !records.isEmpty {
        let new = try await store.record(
          zip(decision.ticks, records).map { FiredTick(tick: Date(unixMilliseconds: $0), job: $1.id) },
          of: schedule.name, in: transaction.sql)
        try await transaction.add(
          zip(decision.ticks, records).filter { new.contains(Date(unixMilliseconds: $0.0)) }.map(\.1))
        decision.ticks.removeAll { !new.contains(Date(unixMilliseconds: $0)) }
      }
      if decision.state != kept { try await store.save(decision.state, in: transaction.sql) }
      return decision
    }
    tell(schedule, decision)
    return decision
  }

  private func tell(_ schedule: Schedule, _ decision: Decision) {
    if decision.isTakenBack {
      logger.warning(
        "a schedule was decided by a clock that was ahead; continuing from the current time",
        metadata: [LogKeys.schedule: "\(schedule.name)"])
    }
    if decision.hasSkipped {
      metrics.skipped(schedule.name)
      logger.notice(
        "ticks were missed; not all of them fire",
        metadata: [LogKeys.schedule: "\(schedule.name)", LogKeys.count: "\(decision.ticks.count)"])
    }
    if let last = decision.ticks.last {
      metrics.fired(schedule.name, count: decision.ticks.count)
      logger.debug(
        "a schedule fired",
        metadata: [
          LogKeys.schedule: "\(schedule.name)", LogKeys.count: "\(decision.ticks.count)",
          LogKeys.tick: "\(Date(unixMilliseconds: last))",
        ])
    }
  }

  private func prune(_ schedule: ScheduleName) async throws {
    let batch = 1000
    while try await store.prune(schedule, keep: configuration.keptTicks, batch: batch) == batch {}
  }

  private var now: Int64 { clock.now.unixMilliseconds }
}

/// The counters of the schedules, created once: the names are fixed in the program.
struct ScheduleMetrics: Sendable {
  private struct Handles: Sendable {
    let fired: Counter
    let skipped: Counter
  }

  private let handles: [ScheduleName: Handles]

  init(schedules: [ScheduleName]) {
    handles = Dictionary(
      uniqueKeysWithValues: schedules.map { name in
        let dimensions = [("schedule", name.rawValue)]
        return (
          name,
          Handles(
            fired: Counter(label: "fanmill_schedule_ticks_total", dimensions: dimensions),
            skipped: Counter(label: "fanmill_schedule_gaps_total", dimensions: dimensions))
        )
      })
  }

  func fired(_ name: ScheduleName, count: Int) { handles[name]?.fired.increment(by: count) }
  /// Counts once per gap in which ticks were missed.
  func skipped(_ name: ScheduleName) { handles[name]?.skipped.increment() }
}
