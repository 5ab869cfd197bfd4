import DurableJobs
import LibPQClient

/// How far this process' clock is from Postgres', which decides.
public struct LedgerClock: Sendable {
  /// How far the system's clock is ahead; negative where it is behind.
  public let ahead: Duration
  /// By how much that may be wrong.
  public let error: Duration

  /// Asks Postgres for its time, and has all that this process dates go by it (`JobClock`).
  public static func measure(_ pool: PostgresPool) async throws -> LedgerClock {
    let clock = try await pool.transaction { transaction in
      // The first statement opens the transaction, and a new connection plans it: the second one is measured.
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

  /// Whether the clock is off by more than a second, which people should know of.
  public var isOff: Bool { max(ahead, .zero - ahead) > .seconds(1) + error }
}
