#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Logging
import Metrics
import ServiceLifecycle

/// Fires schedules: asks for a job at each tick of each.
///
/// Every worker runs one; one of them leads, and when it goes another leads within 5 seconds. What makes a tick fire
/// once is not the leadership, which two may believe in for a moment, but the transaction of each firing: it locks the
/// schedule's state, notes the ticks under a unique key and owes their jobs, all or nothing.
///
/// `run()` serves until a graceful shutdown is asked for.
public struct Scheduler<B: Broker, L: Ledger, Store: ScheduleStore>: Service where Store.Transaction == L.Transaction {
  private let schedules: [Schedule]
  private let client: JobClient<B, L>
  private let store: Store
  private let configuration: SchedulerConfiguration
  private let clock: any WallClock
  private let logger: Logger
  private let metrics: ScheduleMetrics

  /// The role on the ledger.
  public static var role: String { "scheduler" }

  /// - Throws: `.name` where a name cannot be one or stands there twice.
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
          logger.warning("the scheduler was interrupted", metadata: [LogKeys.error: "\(error)"])
        }
        await backoff.pause(until: nil)
      }
    }
  }

  /// Fires what is due, until cancelled: each schedule by itself, so that one that is held up holds up no other.
  private func lead() async throws {
    logger.info("this process fires the schedules", metadata: [LogKeys.count: "\(schedules.count)"])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for schedule in schedules { group.addTask { try await attend(schedule) } }
      // Leading goes on without schedules.
      if schedules.isEmpty { group.addTask { while true { try await sleep(until: nil) } } }
      try await group.waitForAll()
    }
  }

  /// Fires one schedule, until cancelled.
  private func attend(_ schedule: Schedule) async throws {
    // Decided on at once, so that it is known, and what was missed is decided on.
    var due: Int64? = .min
    // How many ticks may have to be forgotten.
    var unpruned = configuration.pruneEvery
    while true {
      if let moment = due, moment <= now {
        do {
          // A trace for each firing: its jobs, and what they ask for, are found by it.
          let decision = try await TraceContext.begin().run { try await fire(schedule) }
          due = decision.next
          unpruned += decision.ticks.count
          if unpruned >= configuration.pruneEvery {
            try await prune(schedule.name)
            unpruned = 0
          }
        } catch {
          try Task.checkCancellation()
          logger.error(
            "cannot fire a schedule; retrying",
            metadata: [LogKeys.schedule: "\(schedule.name)", LogKeys.error: "\(error)"])
          due = now + configuration.retryAfter.milliseconds
        }
      }
      try await sleep(until: due)
    }
  }

  /// - Parameter moment: nil where nothing is ahead.
  private func sleep(until moment: Int64?) async throws {
    try await clock.sleep(until: Date(unixMilliseconds: moment ?? now + 3_600_000))
  }

  /// Fires the ticks of a schedule that are due, in one transaction.
  func fire(_ schedule: Schedule) async throws -> Decision {
    let decision = try await client.transaction { transaction in
      let kept = try await store.lock(ScheduleState(beginning: schedule, at: now), in: transaction.sql)
      // The time after the wait for the lock: what another leader has decided on meanwhile is decided.
      var decision = Decision(schedule, kept, now: now, grace: configuration.grace.milliseconds)
      if decision.isTakenBack {
        // What fired far too early fires again in time.
        let moment = now + configuration.grace.milliseconds
        try await store.forget(ticksAfter: moment, of: schedule.name, in: transaction.sql)
      }
      let records = try decision.ticks.map { try schedule.job(at: Tick(schedule: schedule.name, milliseconds: $0)) }
      if !records.isEmpty {
        let new = try await store.record(
          zip(decision.ticks, records).map { FiredTick(tick: $0, job: $1.id) }, of: schedule.name, in: transaction.sql)
        try await transaction.add(zip(decision.ticks, records).filter { new.contains($0.0) }.map(\.1))
        decision.ticks.removeAll { !new.contains($0) }
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

/// The counters of the schedules: made once, for names that stand in the program.
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
  /// Once for a stretch in which ticks were missed.
  func skipped(_ name: ScheduleName) { handles[name]?.skipped.increment() }
}
