import DurableJobs
import DurableJobsPostgres
import Foundation

/// The alarms in Postgres.
///
/// A unique index allows one open alarm of each kind per queue. However many processes check, and however often, one of
/// them inserts the row, and that one sends the message.
public struct AlarmBook: Sendable {
  /// How long the oldest job of a queue has waited, and how long the oldest has run.
  public struct Reading: Sendable, Hashable {
    public var queue: String
    /// In seconds; nil if no job waits.
    public var waiting: Double?
    public var running: Double?
    /// Whether an operator has paused the queue: then its jobs are meant to wait.
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

  /// The fraction of its limit below which an alarm closes, so that a queue at its limit does not flap.
  private static let over = 0.8

  private let database: JobsDatabase
  private let limits: AlarmLimits
  private let isDelivered: Bool

  /// - Parameter isDelivered: whether alarms are delivered somewhere, not only logged.
  public init(_ database: JobsDatabase, limits: AlarmLimits, isDelivered: Bool) {
    self.database = database
    self.limits = limits
    self.isDelivered = isDelivered
  }

  /// Opens an alarm for each limit exceeded, and closes the alarms back within theirs. A queue without a reading keeps
  /// its alarms.
  ///
  /// - Returns: the alarms that this call opened or closed.
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

  /// The open alarms.
  public func open() async throws -> [Alarm] { try await database.openAlarms().map { Alarm($0) } }

  private func add(_ alarm: Alarm) async throws -> Bool {
    try await database.open(
      AlarmRow(
        id: alarm.id, queue: alarm.queue, what: alarm.concern.rawValue, limit: alarm.limit, seconds: alarm.seconds,
        openedAt: alarm.openedAt), isNotified: !isDelivered)
  }

  private func close(_ alarm: Alarm, at now: Date) async throws -> Alarm? {
    guard try await database.closeAlarm(alarm.id, at: now) else { return nil }
    var over = alarm
    over.closedAt = now
    return over
  }

  /// Deletes the alarms that closed before `date`.
  public func forget(before date: Date) async throws { try await database.forgetAlarms(before: date) }

  // MARK: Messages

  /// The oldest undelivered message. An alarm's opening, as it was then, comes before its end.
  func undelivered() async throws -> Alarm? {
    guard let (row, isOpeningDelivered) = try await database.undeliveredAlarm() else { return nil }
    var alarm = Alarm(row)
    if !isOpeningDelivered { alarm.closedAt = nil }
    return alarm
  }

  func delivered(_ message: Alarm) async throws {
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
