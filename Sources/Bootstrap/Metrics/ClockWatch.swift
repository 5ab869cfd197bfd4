import DurableJobs
import DurableJobsPostgres
import LibPQClient
import Logging
import Metrics
import ServiceLifecycle

/// Compares this process's clock with Postgres's every few seconds, so that timestamps are right even if the machine's
/// clock is wrong. The log, a metric and a row for the doctor report a clock that is off by over a second.
struct ClockWatch: Service {
  let program: String
  let process: String
  let host: String
  let database: JobsDatabase
  let factory: any MetricsFactory
  let logger: Logger
  var interval: Duration = .seconds(10)

  func run() async throws {
    await cancelWhenGracefulShutdown {
      let gauge = Meter(label: "fanmill_clock_offset_seconds", factory: factory)
      var (wasOff, isFailing) = (false, false)
      while !Task.isCancelled {
        do {
          let clock = try await LedgerClock.measure(database.pool)
          gauge.set(clock.ahead / .seconds(1))
          if clock.isOff != wasOff { say(clock) }
          if clock.isOff || wasOff {
            try await database.note(clock, of: process, program: program, host: host)
          }
          (wasOff, isFailing) = (clock.isOff, false)
        } catch {
          if Task.isCancelled { return }
          if !isFailing { logger.warning("cannot compare the clocks", metadata: [LogKeys.error: "\(error)"]) }
          isFailing = true
        }
        do { try await Task.sleep(for: interval) } catch { return }
      }
    }
  }

  private func say(_ clock: LedgerClock) {
    let seconds = "\((clock.ahead / .seconds(1) * 10).rounded() / 10)"
    if clock.isOff {
      logger.warning(
        "this machine's clock is wrong, so the process uses Postgres' clock: synchronize the machine with NTP",
        metadata: ["ahead_seconds": "\(seconds)"])
    } else {
      logger.notice("this machine's clock is right again", metadata: ["ahead_seconds": "\(seconds)"])
    }
  }
}
