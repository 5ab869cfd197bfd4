import DurableJobs
import DurableJobsPostgres
import LibPQClient
import Logging
import Metrics
import ServiceLifecycle

/// Compares this process's clock with Postgres's. The log, a metric and a row for the doctor report a clock that is off
/// by over a second.
struct ClockWatch: Service {
  let program: String
  let process: String
  let host: String
  let database: JobsDatabase
  let factory: any MetricsFactory
  let logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown {
      let gauge = Meter(label: "fanmill_clock_offset_seconds", factory: factory)
      await LedgerClock.follow(database.pool, logger: logger) { clock, isNews in
        gauge.set(clock.ahead / .seconds(1))
        if isNews { try await database.note(clock, of: process, program: program, host: host) }
      }
    }
  }
}
