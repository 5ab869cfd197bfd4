import DurableJobs
import LibPQClient

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

  /// Whether the clock is off by more than a second, which operators should know.
  public var isOff: Bool { max(ahead, .zero - ahead) > .seconds(1) + error }
}
