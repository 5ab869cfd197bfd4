import DurableJobs
import DurableJobsPostgres
import Foundation

/// The alarms in Postgres.
///
/// At most one of a kind is open for a queue, by a unique index: whoever looks, and however often, one writes the row,
/// and is the one to tell of it.
public struct AlarmBook: Sendable {
  /// How long the oldest job of a queue waits and runs now.
  public struct Reading: Sendable, Hashable {
    public var queue: String
    /// In seconds; nil where none does.
    public var waiting: Double?
    public var running: Double?
    /// Whether an operator has paused it: then its jobs are meant to wait.
    public var isPaused: Bool

    public init(queue: String, waiting: Double? = nil, running: Double? = nil, isPaused: Bool = false) {
      self.queue = queue
      self.waiting = waiting
      self.running = running
      self.isPaused = isPaused
    }

    func seconds(_ concern: Alarm.Concern) -> Double {
      switch concern {
      case .waiting: isPaused ? 0 : waiting ?? 0
      case .running: running ?? 0
      }
    }
  }

  /// The part of its limit below which an alarm is over: a queue that stays at its limit does not come and go.
  private static let over = 0.8

  private let database: JobsDatabase
  private let limits: AlarmLimits
  private let isDelivered: Bool

  /// - Parameter isDelivered: whether alarms are delivered somewhere, not logged alone.
  public init(_ database: JobsDatabase, limits: AlarmLimits, isDelivered: Bool) {
    self.database = database
    self.limits = limits
    self.isDelivered = isDelivered
  }

  /// Opens what has passed its limit and closes what is within it again; a queue without a reading is left as it is.
  ///
  /// - Returns: what was opened and closed by this very call.
  public func judge(_ readings: [Reading], at now: Date) async throws -> [Alarm] {
    let known = try await open()
    var changed: [Alarm] = []
    for reading in readings {
      for concern in Alarm.Concern.allCases {
        let limit = limits.limit(of: reading.queue, concern)
        let seconds = reading.seconds(concern)
        if let open = known.first(where: { $0.queue == reading.queue && $0.concern == concern }) {
          if let limit, seconds > limit * Self.over { continue }
          if let closed = try await close(open, at: now) { changed.append(closed) }
        } else if let limit, seconds > limit {
          let alarm = Alarm(
            id: .next(), queue: reading.queue, concern: concern, limit: limit, seconds: seconds, openedAt: now)
          if try await add(alarm) { changed.append(alarm) }
        }
      }
    }
    return changed
  }

  /// Those that are not over.
  public func open() async throws -> [Alarm] { try await database.openAlarms().map { Alarm($0) } }

  private func add(_ alarm: Alarm) async throws -> Bool {
    try await database.open(
      AlarmRow(
        id: alarm.id, queue: alarm.queue, what: alarm.concern.rawValue, limit: alarm.limit, seconds: alarm.seconds,
        openedAt: alarm.openedAt), isTold: !isDelivered)
  }

  private func close(_ alarm: Alarm, at now: Date) async throws -> Alarm? {
    guard try await database.closeAlarm(alarm.id, at: now) else { return nil }
    var over = alarm
    over.closedAt = now
    return over
  }

  /// Forgets what was over before `date`.
  public func forget(before date: Date) async throws { try await database.forgetAlarms(before: date) }

  // MARK: Messages

  /// The oldest message that is not delivered yet: of an alarm its opening, as it was then, before its end.
  func untold() async throws -> Alarm? {
    guard let (row, isOpeningTold) = try await database.untoldAlarm() else { return nil }
    var alarm = Alarm(row)
    if !isOpeningTold { alarm.closedAt = nil }
    return alarm
  }

  func told(_ message: Alarm) async throws {
    try await database.noteDelivery(of: message.id, isOpening: message.closedAt == nil)
  }
}

extension Alarm {
  fileprivate init(_ row: AlarmRow) {
    self.init(
      id: row.id, queue: row.queue, concern: Concern(rawValue: row.what) ?? .waiting, limit: row.limit,
      seconds: row.seconds, openedAt: row.openedAt, closedAt: row.closedAt)
  }
}
