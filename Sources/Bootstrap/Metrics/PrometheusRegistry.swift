import Locking
import Metrics

/// Keeps what the code counts and measures through swift-metrics, and writes it in Prometheus' text format.
///
/// Counters become `NAME_total`; meters and gauges `NAME`; timers histograms of seconds, `NAME_seconds`; aggregating
/// recorders histograms, `NAME`. A character that Prometheus does not allow in a name becomes an underscore.
///
/// Each name keeps at most `seriesLimit` combinations of label values. What comes after is counted under the value
/// `other` in every label, so that a label fed from outside cannot grow the memory.
///
/// A handle is made once for a name and its labels; asking again gives the same one. Handles live as long as the registry.
public final class PrometheusRegistry: MetricsFactory, Sendable {
  private struct State {
    var families: [String: PrometheusFamily] = [:]
    var help: [String: String] = [:]
    var refresh: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())
  private let seriesLimit: Int

  /// The upper bounds of a timer's buckets, in seconds: from the pick-up of a job to a long handler.
  static let timeBuckets = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]
  /// The upper bounds of a recorder's buckets: counts and sizes.
  static let sizeBuckets: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000]

  public init(seriesLimit: Int = 200) {
    self.seriesLimit = seriesLimit
  }

  /// Sets the `HELP` line of a metric, by the name that the code gives it.
  public func describe(_ label: String, _ help: String) {
    state.withLock { $0.help[PrometheusText.name(label)] = help }
  }

  /// Runs `body` before each scrape: for values that are read, not counted, such as the memory in use.
  public func beforeScrape(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.refresh.append(body) }
  }

  /// The whole of it in text format 0.0.4, sorted by name and labels.
  public func scrape() -> String {
    for body in state.withLock({ $0.refresh }) { body() }
    let (families, help) = state.withLock { ($0.families, $0.help) }
    var text = PrometheusText()
    for (name, family) in families.sorted(by: { $0.key < $1.key }) {
      text.write(name, family, help: help[family.source] ?? family.source)
    }
    return text.text
  }

  // MARK: swift-metrics

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    handler(label, "_total", dimensions, .counter) { PrometheusCounter() }
  }

  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    handler(label, "_total", dimensions, .counter) { PrometheusCounter() }
  }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    handler(label, "", dimensions, .gauge) { PrometheusGauge() }
  }

  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    if aggregate {
      handler(label, "", dimensions, .histogram) { PrometheusHistogram(bounds: Self.sizeBuckets) }
    } else {
      handler(label, "", dimensions, .gauge) { PrometheusGauge() }
    }
  }

  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    handler(label, "_seconds", dimensions, .histogram) { PrometheusHistogram(bounds: Self.timeBuckets) }
  }

  // What was counted stays counted: Prometheus takes a series that goes and comes for a restart.
  public func destroyCounter(_ handler: any CounterHandler) {}
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  public func destroyMeter(_ handler: any MeterHandler) {}
  public func destroyRecorder(_ handler: any RecorderHandler) {}
  public func destroyTimer(_ handler: any TimerHandler) {}

  private func handler<Handler: PrometheusSeries>(
    _ label: String, _ suffix: String, _ dimensions: [(String, String)], _ kind: PrometheusFamily.Kind,
    make: @Sendable () -> Handler
  ) -> Handler {
    let source = PrometheusText.name(label)
    let name = source.hasSuffix(suffix) ? source : source + suffix
    var labels = dimensions.map { PrometheusLabel(name: PrometheusText.labelName($0.0), value: $0.1) }
    labels.sort { $0.name < $1.name }
    let sorted = labels
    return state.withLock { state in
      var family = state.families[name] ?? PrometheusFamily(kind: kind, source: source)
      // A name that already means another kind cannot be written twice: the second one is kept, and not shown.
      guard family.kind == kind else { return make() }
      var key = sorted
      if family.series[key] == nil, family.series.count >= seriesLimit {
        key = sorted.map { PrometheusLabel(name: $0.name, value: "other") }
      }
      if let known = family.series[key] as? Handler { return known }
      let made = make()
      family.series[key] = made
      state.families[name] = family
      return made
    }
  }
}
