import Locking
import Metrics

/// A number that only grows.
final class PrometheusCounter: PrometheusSeries, CounterHandler, FloatingPointCounterHandler {
  let labels: String
  private let beginning: [UInt8]
  private let value = Locked(0.0)

  init(_ name: String, _ labels: String) {
    self.labels = labels
    beginning = PrometheusText.beginning(name, labels)
  }

  func increment(by amount: Int64) { increment(by: Double(amount)) }
  func increment(by amount: Double) { if amount > 0 { value.withLock { $0 += amount } } }
  func reset() { value.withLock { $0 = 0 } }
  func write(to text: inout PrometheusText) { text.line(beginning, value.withLock { $0 }) }
}

/// A number that goes up and down.
final class PrometheusGauge: PrometheusSeries, MeterHandler, RecorderHandler {
  let labels: String
  let family: String
  private let beginning: [UInt8]
  private let value = Locked(0.0)

  init(_ name: String, _ labels: String) {
    family = name
    self.labels = labels
    beginning = PrometheusText.beginning(name, labels)
  }

  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { self.value.withLock { $0 = value } }
  func increment(by amount: Double) { value.withLock { $0 += amount } }
  func decrement(by amount: Double) { value.withLock { $0 -= amount } }
  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
  func write(to text: inout PrometheusText) { text.line(beginning, value.withLock { $0 }) }
}

/// The distribution of values over fixed buckets.
final class PrometheusHistogram: PrometheusSeries, TimerHandler, RecorderHandler {
  private struct State {
    var counts: [Int]
    var sum = 0.0
  }

  let labels: String
  private let bounds: [Double]
  /// The constant prefixes of the bucket, sum and count lines.
  private let beginnings: (buckets: [[UInt8]], sum: [UInt8], count: [UInt8])
  private let state: Locked<State>

  init(_ name: String, _ labels: String, bounds: [Double]) {
    self.labels = labels
    self.bounds = bounds
    let others = labels.isEmpty ? "" : labels + ","
    beginnings = (
      (bounds + [.infinity]).map {
        PrometheusText.beginning(name + "_bucket", "\(others)le=\"\(PrometheusText.number($0))\"")
      }, PrometheusText.beginning(name + "_sum", labels), PrometheusText.beginning(name + "_count", labels)
    )
    state = Locked(State(counts: Array(repeating: 0, count: bounds.count + 1)))
  }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    guard value.isFinite else { return }
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    state.withLock {
      $0.counts[bucket] += 1
      $0.sum += value
    }
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
  // Prometheus's unit of time is the second, whatever the display unit.
  func preferDisplayUnit(_ unit: TimeUnit) {}

  func write(to text: inout PrometheusText) {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total = 0
    for (beginning, count) in zip(beginnings.buckets, counts) {
      total += count
      text.line(beginning, total)
    }
    text.line(beginnings.sum, sum)
    text.line(beginnings.count, total)
  }
}
