import Foundation
import LibPQClient
import Logging
import Metrics
import PrivateServers
import Reactor
import TestSupport
import Testing

@testable import Bootstrap
@testable import DurableJobsAdmin

@Suite(.timeLimit(.minutes(5))) struct StackGaugesTests {
  private static let now = Date(timeIntervalSince1970: 1_767_225_600)

  private var sample: StackSample {
    var sample = StackSample(at: Self.now)
    var queue = StackSample.QueueSample(queue: "fan\"out")
    (queue.ready, queue.claimed, queue.delayed, queue.workers, queue.wanted) = (7, 2, 1, 3, 4)
    queue.oldestWaiting = 1.5
    queue.debt = 9
    sample.queues = [queue]
    sample.broker = .init(used: 1000, limit: 2000)
    sample.oldestSnapshot = 61.5
    sample.jobs = [.init(queue: "fan\"out", kind: "other", state: "parked", jobs: 5)]
    sample.gauges = [
      .init("fanmill_fan_outs_unfinished", 2), .init("fanmill_fan_out_lag_seconds", 12.25),
      .init("fanmill_quota_left", 3, labels: ["key": "abc", "budget": "units"]),
      .init("fanmill_quota_limit", 10, labels: ["key": "abc", "budget": "units"]),
      .init("fanmill_webhooks_stopped", 1), .init("fanmill_webhook_lag_seconds", 3),
    ]
    sample.alarms = [.init(queue: "fan\"out", what: "waiting")]
    return sample
  }

  @Test func aSampleIsShownAndAnOldOneIsNot() {
    let registry = PrometheusRegistry()
    var shown = GaugeSet(factory: registry)
    shown.show(sample.gauges(at: Self.now + 5))
    let text = registry.scrape()
    for line in [
      #"fanmill_queue_jobs{queue="fan\"out",state="ready"} 7"#,
      #"fanmill_queue_jobs{queue="fan\"out",state="delayed"} 1"#,
      #"fanmill_oldest_waiting_seconds{queue="fan\"out"} 1.5"#, #"fanmill_oldest_running_seconds{queue="fan\"out"} 0"#,
      #"fanmill_ledger_debt_jobs{queue="fan\"out"} 9"#, #"fanmill_queue_workers{queue="fan\"out"} 3"#,
      #"fanmill_workers_wanted{queue="fan\"out"} 4"#, #"fanmill_alarm{queue="fan\"out",what="waiting"} 1"#,
      #"fanmill_alarm{queue="fan\"out",what="running"} 0"#, "fanmill_broker_memory_bytes 1000",
      "fanmill_broker_memory_limit_bytes 2000", "fanmill_broker_up 1", "fanmill_fan_outs_unfinished 2",
      "fanmill_fan_out_lag_seconds 12.25", "fanmill_postgres_oldest_snapshot_seconds 61.5",
      #"fanmill_quota_left{budget="units",key="abc"} 3"#,
      #"fanmill_ledger_jobs{kind="other",queue="fan\"out",state="parked"} 5"#,
      "fanmill_sample_timestamp_seconds 1767225600",
    ] { #expect(text.contains("\n\(line)\n"), "\(line)") }
    let named = Set(sample.gauges(at: Self.now).map(\.series.label))
    #expect(named == Set(MetricCatalog.stack.map(\.name)))

    shown.show(sample.gauges(at: Self.now + 61))
    #expect(registry.names == ["fanmill_sample_timestamp_seconds"])
    shown.show([])
    #expect(registry.scrape() == "")
  }

  @Test func withoutTheBrokerNobodyKnowsWhatItHolds() {
    var sample = sample
    sample.broker = nil
    let values = sample.gauges(at: Self.now)
    #expect(values.contains(GaugeValue("fanmill_broker_up", 0)))
    #expect(!values.contains { $0.series.label == "fanmill_queue_jobs" || $0.series.label.contains("memory") })
    #expect(values.contains { $0.series.label == "fanmill_oldest_waiting_seconds" && $0.value == 1.5 })
  }

  @Test func aProcessTellsOfItsLoopsAndConnections() async throws {
    let loop = EventLoop(name: "sampled")
    defer { loop.stop() }
    let registry = PrometheusRegistry()
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: try await SharedServers.freshDatabase()), size: 3,
      waitLimit: .seconds(30), loop: loop, logger: .quiet)
    let sampler = ProcessSampler(
      loops: [("postgres", loop)], pool: pool, poolSize: 3, factory: registry, interval: .milliseconds(5))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      group.addTask { try await sampler.run() }
      try await pool.withConnection { _ in
        try await eventually("all of it is told") {
          let text = registry.scrape()
          return ["http", "postgres", "tasks"].allSatisfy {
            !text.contains("fanmill_event_loop_lag_seconds_count{loop=\"\($0)\"} 0\n")
          }
            && text.contains("fanmill_postgres_connections{state=\"leased\"} 1\n")
            && text.contains("fanmill_postgres_pool_size 3\n") && text.contains("fanmill_postgres_waiting 0\n")
        }
      }
      group.cancelAll()
    }
  }
}
