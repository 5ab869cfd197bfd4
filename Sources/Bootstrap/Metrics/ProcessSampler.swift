import LibPQClient
import Metrics
import Reactor
import ServiceLifecycle

/// Samples the process's scarce resources once a second: how late its event loops run, and how busy its connections
/// are.
struct ProcessSampler: Service {
  private let loops: [(loop: EventLoop, timer: Timer)]
  private let http: Timer
  private let tasks: Timer
  private let pool: PostgresPool
  private let interval: Duration
  private let idle: Meter
  private let leased: Meter
  private let waiting: Meter

  init(
    loops: [(name: String, loop: EventLoop)], pool: PostgresPool, poolSize: Int, factory: any MetricsFactory,
    interval: Duration = .seconds(1)
  ) {
    func timer(_ loop: String) -> Timer {
      Timer(label: "fanmill_event_loop_lag_seconds", dimensions: [("loop", loop)], factory: factory)
    }
    func meter(_ state: String) -> Meter {
      Meter(label: "fanmill_postgres_connections", dimensions: [("state", state)], factory: factory)
    }
    self.loops = loops.map { ($0.loop, timer($0.name)) }
    http = timer("http")
    tasks = timer("tasks")
    self.pool = pool
    self.interval = interval
    idle = meter("idle")
    leased = meter("leased")
    waiting = Meter(label: "fanmill_postgres_waiting", factory: factory)
    Meter(label: "fanmill_postgres_pool_size", factory: factory).set(poolSize)
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      let clock = ContinuousClock()
      while !Task.isCancelled {
        await sample()
        let due = clock.now + interval
        do { try await Task.sleep(until: due, clock: clock) } catch { return }
        Self.note(since: due, tasks)
      }
    }
  }

  func sample() async {
    let asked = ContinuousClock.now
    for (loop, timer) in loops { loop.execute { Self.note(since: asked, timer) } }
    HTTPLoops.execute { [http] in Self.note(since: asked, http) }
    let usage = await pool.usage()
    idle.set(usage.idle)
    leased.set(usage.leased)
    waiting.set(usage.waiting)
  }

  private static func note(since asked: ContinuousClock.Instant, _ timer: Timer) {
    timer.recordNanoseconds(max(0, Int64((ContinuousClock.now - asked) / .nanoseconds(1))))
  }
}
