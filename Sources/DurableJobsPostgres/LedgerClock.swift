import DurableJobs
import LibPQClient
import Logging

/// The offset between this process's clock and Postgres', which is authoritative.
public struct LedgerClock: Sendable {
  /// How far the system clock is ahead; negative if it is behind.
  public let ahead: Duration
  /// The largest error of `ahead`.
  public let error: Duration

  /// Reads Postgres' time, and makes it the reference for all dates of this process (`JobClock`).
  public static func measure(_ pool: PostgresPool) async throws -> LedgerClock {
    let clock = try await pool.transaction { transaction in
      // The first statement opens the transaction, and a new connection plans it, so the second one is measured.
      try await transaction.execute("SELECT 1")
      let start = ContinuousClock.now
      let before = JobClock.systemMilliseconds
      let server = try await transaction.query(
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
      )[0].decode(Int64.self)
      let error = start.duration(to: .now) / 2
      return LedgerClock(ahead: .milliseconds(before - server) + error, error: error)
    }
    JobClock.note(ahead: clock.ahead, error: clock.error)
    return clock
  }

  /// Measures every few seconds until the task is cancelled, so that timestamps are right even if the machine's clock
  /// is wrong, and logs a clock that is off by over a second.
  ///
  /// - Parameter note: receives each measurement, and whether the clock is off, or was at the one before.
  public static func follow(
    _ pool: PostgresPool, every interval: Duration = .seconds(10), logger: Logger,
    _ note: @Sendable (LedgerClock, Bool) async throws -> Void = { _, _ in }
  ) async {
    var (wasOff, isFailing) = (false, false)
    while !Task.isCancelled {
      do {
        let clock = try await measure(pool)
        if clock.isOff != wasOff { clock.log(to: logger) }
        try await note(clock, clock.isOff || wasOff)
        (wasOff, isFailing) = (clock.isOff, false)
      } catch {
        if Task.isCancelled { return }
        if !isFailing { logger.warning("cannot compare the clocks", metadata: [LogKeys.error: "\(error)"]) }
        isFailing = true
      }
      do { try await Task.sleep(for: interval) } catch { return }
    }
  }

  private func log(to logger: Logger) {
    let seconds = "\((ahead / .seconds(1) * 10).rounded() / 10)"
    if isOff {
      logger.warning(
        "this machine's clock is wrong, so the process uses Postgres' clock: synchronize the machine with NTP",
        metadata: ["ahead_seconds": "\(seconds)"])
    } else {
      logger.notice("this machine's clock is right again", metadata: ["ahead_seconds": "\(seconds)"])
    }
  }

  /// Whether the clock is off by more than a second, which operators should know.
  public var isOff: Bool { max(ahead, .zero - ahead) > .seconds(1) + error }
}
