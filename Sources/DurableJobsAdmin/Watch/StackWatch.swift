import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Logging
import ServiceLifecycle

/// Watches the stack: takes samples, opens alarms and computes how many workers each queue needs.
///
/// Every process runs one, the API included, so that the loss of all workers is noticed. One of them leads; when it
/// stops, another takes over within 5 seconds. Two leaders at once do no harm for a moment: the later sample wins, and
/// an alarm opens as one row under a unique key.
///
/// `run()` serves until a graceful shutdown.
public struct StackWatch: Service {
  /// The settings of a watch.
  public struct Configuration: Sendable {
    /// The queues to include even if they are empty.
    public var queues: [QueueName] = []
    /// The kinds that are counted by name; the others are counted together.
    public var kinds: Set<String> = []
    /// The app's own gauges, read once per sample. One that throws is left out of the sample and affects nothing else.
    public var gauges: [Gauges] = []
    public var limits: AlarmLimits
    /// Delivers alarms; nil only logs them.
    public var deliver: AlarmDelivery?
    public var autoscaling = Autoscaling()
    /// The assumed concurrency of a worker on a queue that has none.
    public var usualConcurrency = 16
    /// The time between two samples.
    public var interval: Duration = .seconds(5)
    /// The minimum time between two counts of the ledger; counting takes at most a hundredth of the time.
    public var countInterval: Duration = .seconds(15)

    public init(limits: AlarmLimits) { self.limits = limits }
  }

  /// Reads the app's own gauges.
  public typealias Gauges = @Sendable (PostgresPool, Date) async throws -> [StackSample.Gauge]

  /// The role's name in the ledger.
  public static let role = "watch"

  private let configuration: Configuration
  private let database: JobsDatabase
  private let broker: RedisBroker
  private let now: @Sendable () -> Date
  private let pause: @Sendable (Duration) async throws -> Void
  private let logger: Logger
  private let book: AlarmBook

  public init(
    _ configuration: Configuration, database: JobsDatabase, broker: RedisBroker,
    now: @escaping @Sendable () -> Date = { JobClock.now },
    pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }, logger: Logger
  ) {
    self.configuration = configuration
    self.database = database
    self.broker = broker
    self.now = now
    self.pause = pause
    self.logger = logger
    book = AlarmBook(database, limits: configuration.limits, isDelivered: configuration.deliver != nil)
  }

  public func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        do {
          try await PostgresLedger(database).lead(Self.role) { try await watch() }
        } catch {
          if Task.isCancelled { return }
          logger.warning("the stack watch was interrupted", metadata: [LogKeys.error: "\(error)"])
        }
        do { try await Task.sleep(for: .milliseconds(Int.random(in: 500...1500))) } catch { return }
      }
    }
  }

  /// Leads until cancelled.
  func watch() async throws {
    logger.info("this process watches the stack")
    let sampler = StackSampler(
      database, broker: broker, known: configuration.queues, kinds: configuration.kinds,
      gauges: configuration.gauges, autoscaling: configuration.autoscaling,
      usualConcurrency: configuration.usualConcurrency,
      logger: logger)
    if let last = await latest(), now().timeIntervalSince(last.at) < 600 { await sampler.resume(from: last) }
    let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await count(sampler) }
      group.addTask { try await sample(sampler, changed) }
      if let deliver = configuration.deliver {
        let messenger = AlarmMessenger(book: book, deliver: deliver, pause: pause, now: now, logger: logger)
        group.addTask { try await messenger.run(changes) }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func latest() async -> StackSample? {
    do {
      return try await StackSample.latest(in: database)
    } catch {
      logger.info("cannot read the last sample; starting over", metadata: [LogKeys.error: "\(error)"])
      return nil
    }
  }

  private func count(_ sampler: StackSampler) async throws {
    let clock = ContinuousClock()
    while true {
      let begun = clock.now
      do {
        try await sampler.count()
      } catch {
        try Task.checkCancellation()
        logger.warning("cannot count the ledger's jobs", metadata: [LogKeys.error: "\(error)"])
      }
      try await pause(max(configuration.countInterval, (clock.now - begun) * 100))
    }
  }

  private func sample(_ sampler: StackSampler, _ changed: AsyncStream<Void>.Continuation) async throws {
    var isFailing = false
    var swept = Date.distantPast
    while true {
      do {
        try await sample(sampler, changed, sweep: now().timeIntervalSince(swept) > 3600)
        if now().timeIntervalSince(swept) > 3600 { swept = now() }
        isFailing = false
      } catch {
        try Task.checkCancellation()
        if !isFailing { logger.warning("cannot sample the stack", metadata: [LogKeys.error: "\(error)"]) }
        isFailing = true
      }
      try await pause(configuration.interval)
    }
  }

  /// Takes one sample, judges it and stores it.
  private func sample(_ sampler: StackSampler, _ changed: AsyncStream<Void>.Continuation, sweep: Bool) async throws {
    var sample = try await sampler.sample(at: now())
    let changes = try await book.judge(sample.readings, at: sample.at)
    for alarm in changes { tell(alarm) }
    if !changes.isEmpty { changed.yield() }
    sample.alarms = try await book.open().map { StackSample.OpenAlarm(queue: $0.queue, what: $0.concern.rawValue) }
    try await sample.save(in: database)
    if sweep { try await book.forget(before: now() - 30 * 86_400) }
  }

  private func tell(_ alarm: Alarm) {
    var metadata: Logger.Metadata = [
      LogKeys.queue: "\(alarm.queue)", "what": "\(alarm.concern.rawValue)", "limit_s": "\(alarm.limit)",
      "seconds": "\(alarm.seconds)", "alarm": "\(alarm.id)",
    ]
    if let trace = alarm.trace { metadata[LogKeys.trace] = "\(trace)" }
    if alarm.closedAt == nil {
      logger.warning("alarm: \(alarm.text)", metadata: metadata)
    } else {
      logger.notice("\(alarm.text)", metadata: metadata)
    }
  }
}

extension StackSample {
  var readings: [AlarmBook.Reading] {
    queues.map {
      AlarmBook.Reading(
        queue: $0.queue, waiting: $0.oldestWaiting, running: $0.oldestRunning, isPaused: $0.isPaused)
    }
  }
}
