import Locking
import Metrics

/// A number that only grows.
final class PrometheusCounter: PrometheusSeries, CounterHandler, FloatingPointCounterHandler {
  private let value = Locked(0.0)

  func increment(by amount: Int64) { increment(by: Double(amount)) }
  func increment(by amount: Double) { if amount > 0 { value.withLock { $0 += amount } } }
  func reset() { value.withLock { $0 = 0 } }
  func sample() -> PrometheusSample { .number(value.withLock { $0 }) }
}

/// A number that goes up and down.
final class PrometheusGauge: PrometheusSeries, MeterHandler, RecorderHandler {
  private let value = Locked(0.0)

  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { self.value.withLock { $0 = value } }
  func increment(by amount: Double) { value.withLock { $0 += amount } }
  func decrement(by amount: Double) { value.withLock { $0 -= amount } }
  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
  func sample() -> PrometheusSample { .number(value.withLock { $0 }) }
}

/// How values are distributed over fixed buckets.
final class PrometheusHistogram: PrometheusSeries, TimerHandler, RecorderHandler {
  private struct State {
    var counts: [Int]
    var sum = 0.0
  }

  private let bounds: [Double]
  private let state: Locked<State>

  init(bounds: [Double]) {
    self.bounds = bounds
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
  // Prometheus' unit of time is the second, whatever a reader prefers.
  func preferDisplayUnit(_ unit: TimeUnit) {}

  func sample() -> PrometheusSample {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    return .distribution(bounds: bounds, counts: counts, sum: sum)
  }
}
