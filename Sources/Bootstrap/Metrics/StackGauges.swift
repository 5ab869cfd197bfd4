import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging
import Metrics
import ServiceLifecycle

/// Exports the state of the whole stack in this process's metrics by reading the latest sample, one row, every few
/// seconds. Scrapes query neither Postgres nor Redis.
struct StackGauges: Service {
  let database: JobsDatabase
  let factory: any MetricsFactory
  let logger: Logger
  var interval: Duration = .seconds(5)

  func run() async throws {
    await cancelWhenGracefulShutdown {
      var shown = GaugeSet(factory: factory)
      var isFailing = false
      while !Task.isCancelled {
        do {
          let sample = try await StackSample.latest(in: database)
          shown.show(sample.map { $0.gauges(at: JobClock.now) } ?? [])
          isFailing = false
        } catch {
          if Task.isCancelled { return }
          if !isFailing { logger.warning("cannot read the stack's sample", metadata: [LogKeys.error: "\(error)"]) }
          isFailing = true
          shown.show([])
        }
        do { try await Task.sleep(for: interval) } catch { return }
      }
    }
  }
}

/// A value to export.
struct GaugeValue: Hashable {
  struct Series: Hashable {
    let label: String
    /// In order, by name and then value.
    let dimensions: [[String]]
  }

  let series: Series
  let value: Double

  init(_ label: String, _ value: Double, _ dimensions: (String, String)...) {
    self.init(label, value, dimensions)
  }

  init(_ label: String, _ value: Double, _ dimensions: [(String, String)]) {
    series = Series(label: label, dimensions: dimensions.map { [$0.0, $0.1] })
    self.value = value
  }
}

/// Gauges that come and go: a gauge no longer exported disappears instead of keeping its last value.
struct GaugeSet {
  private let factory: any MetricsFactory
  private var meters: [GaugeValue.Series: Meter] = [:]

  init(factory: any MetricsFactory) { self.factory = factory }

  mutating func show(_ values: [GaugeValue]) {
    var gone = meters
    for value in values {
      gone[value.series] = nil
      let meter =
        meters[value.series]
        ?? Meter(
          label: value.series.label, dimensions: value.series.dimensions.map { ($0[0], $0[1]) }, factory: factory)
      meters[value.series] = meter
      meter.set(value.value)
    }
    for (series, meter) in gone {
      meter.destroy()
      meters[series] = nil
    }
  }
}

extension StackSample {
  /// The exported values; for a sample that is too old, only its age.
  func gauges(at now: Date) -> [GaugeValue] {
    var values = [GaugeValue("fanmill_sample_timestamp_seconds", at.timeIntervalSince1970)]
    if now.timeIntervalSince(at) > Self.freshness { return values }
    values.append(GaugeValue("fanmill_broker_up", broker == nil ? 0 : 1))
    if let broker {
      values.append(GaugeValue("fanmill_broker_memory_bytes", Double(broker.used)))
      values.append(GaugeValue("fanmill_broker_memory_limit_bytes", Double(broker.limit)))
    }
    for queue in queues { values += gauges(of: queue) }
    for count in jobs ?? [] {
      values.append(
        GaugeValue(
          "fanmill_ledger_jobs", Double(count.jobs), ("queue", count.queue), ("kind", count.kind),
          ("state", count.state)))
    }
    if let oldestSnapshot { values.append(GaugeValue("fanmill_postgres_oldest_snapshot_seconds", oldestSnapshot)) }
    for gauge in gauges ?? [] {
      values.append(GaugeValue(gauge.name, gauge.value, gauge.labels.sorted { $0.key < $1.key }))
    }
    return values
  }

  private func gauges(of queue: QueueSample) -> [GaugeValue] {
    let name = ("queue", queue.queue)
    var values = [
      GaugeValue("fanmill_oldest_waiting_seconds", queue.oldestWaiting ?? 0, name),
      GaugeValue("fanmill_oldest_running_seconds", queue.oldestRunning ?? 0, name),
      GaugeValue("fanmill_queue_workers", Double(queue.workers), name),
      GaugeValue("fanmill_queue_paused", queue.isPaused ? 1 : 0, name),
      GaugeValue("fanmill_arrival_rate", queue.load.arrivalRate, name),
      GaugeValue("fanmill_workers_wanted", Double(queue.wanted), name),
    ]
    // The contents of an unresponsive broker are unknown.
    if broker != nil {
      for (state, count) in [("ready", queue.ready), ("claimed", queue.claimed), ("delayed", queue.delayed)] {
        values.append(GaugeValue("fanmill_queue_jobs", Double(count), name, ("state", state)))
      }
    }
    if let debt = queue.debt { values.append(GaugeValue("fanmill_ledger_debt_jobs", Double(debt), name)) }
    for concern in Alarm.Concern.allCases {
      let isOpen = (alarms ?? []).contains { $0.queue == queue.queue && $0.what == concern.rawValue }
      values.append(GaugeValue("fanmill_alarm", isOpen ? 1 : 0, name, ("what", concern.rawValue)))
    }
    return values
  }
}
