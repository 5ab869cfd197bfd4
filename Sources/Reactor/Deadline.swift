import Locking

/// The time by which a task's work must have its replies from servers.
///
/// Clients of this package wait no longer than the current deadline, whatever their own limits:
/// ```swift
/// try await Deadline.$current.withValue(Deadline(after: .seconds(5))) { … }
/// ```
public final class Deadline: Sendable {
  /// The deadline of the current task and its child tasks.
  @TaskLocal public static var current: Deadline?

  private let instant: Locked<ContinuousClock.Instant>

  public init(after limit: Duration) {
    instant = Locked(.now + limit)
  }

  /// The remaining time; zero once the deadline has passed.
  public var remaining: Duration { max(.zero, instant.withLock { $0 } - .now) }

  public var hasPassed: Bool { remaining == .zero }

  /// Extends the deadline by time that no server took, such as a slow client's.
  public func extend(by duration: Duration) {
    instant.withLock { $0 += duration }
  }

  /// The latest deadline; nil, for no limit, if one of them is nil.
  public static func latest(of deadlines: [Deadline?]) -> Deadline? {
    let limits = deadlines.compactMap(\.self)
    guard limits.count == deadlines.count else { return nil }
    return limits.max { $0.instant.withLock { $0 } < $1.instant.withLock { $0 } }
  }

  /// The shorter of `limit` and the time left until the current deadline.
  public static func shortened(_ limit: Duration) -> Duration {
    current.map { min($0.remaining, limit) } ?? limit
  }

  /// The shorter of `limit` and the time left until the current deadline; nil if there is neither.
  public static func shortened(optional limit: Duration?) -> Duration? {
    guard let current else { return limit }
    return limit.map { min(current.remaining, $0) } ?? current.remaining
  }
}
