import Locking
import Metrics

/// Collects the metrics that code reports through swift-metrics, and writes them in Prometheus's text format.
///
/// Counters become `NAME_total`; meters and gauges `NAME`; timers histograms of seconds, `NAME_seconds`; aggregating
/// recorders histograms, `NAME`. A character that Prometheus does not allow in a name becomes an underscore.
///
/// Each name keeps at most `seriesLimit` combinations of label values. Further combinations are counted under the value
/// `other` in every label, so that a label fed from outside cannot grow memory.
///
/// A handle is created once per name and labels; repeated requests return the same one. Counters and histograms live as
/// long as the registry; a destroyed gauge disappears from the output.
public final class PrometheusRegistry: MetricsFactory, Sendable {
  private struct State {
    var families: [String: PrometheusFamily] = [:]
    var help: [String: String] = [:]
    var refresh: [@Sendable () -> Void] = []
    /// The size of the last scrape.
    var size = 0
  }

  private let state = Locked(State())
  private let seriesLimit: Int

  /// The upper bounds of a timer's buckets, in seconds: from a job's pick-up to a ten-minute handler.
  static let timeBuckets = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
  ]
  /// The upper bounds of a recorder's buckets: counts and sizes.
  static let sizeBuckets: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000]

  public init(seriesLimit: Int = 500) {
    self.seriesLimit = seriesLimit
  }

  /// Sets the `HELP` line of a metric, by its name in the code or in Prometheus.
  public func describe(_ label: String, _ help: String) {
    state.withLock { $0.help[PrometheusText.name(label)] = help }
  }

  /// Runs `body` before each scrape, for values that are sampled rather than counted, such as memory in use.
  public func beforeScrape(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.refresh.append(body) }
  }

  /// All metrics in text format 0.0.4, sorted by name and labels.
  public func scrape() -> String { String(decoding: scrapeBytes(), as: UTF8.self) }

  /// All metrics in text format 0.0.4, as UTF-8.
  func scrapeBytes() -> [UInt8] {
    for body in state.withLock({ $0.refresh }) { body() }
    let (families, help, size) = state.withLock { ($0.families, $0.help, $0.size) }
    var text = PrometheusText(size: size + 1024)
    for (name, family) in families.sorted(by: { $0.key < $1.key }) where !family.inOrder.isEmpty {
      text.begin(family, help: help[name] ?? help[family.source] ?? family.source)
      for series in family.inOrder { series.write(to: &text) }
    }
    let written = text.bytes
    state.withLock { $0.size = written.count }
    return written
  }

  /// The names that a scrape contains.
  var names: Set<String> { state.withLock { Set($0.families.filter { !$0.value.inOrder.isEmpty }.keys) } }

  // MARK: swift-metrics

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    handler(label, "_total", dimensions, .counter) { PrometheusCounter($0, $1) }
  }

  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    handler(label, "_total", dimensions, .counter) { PrometheusCounter($0, $1) }
  }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    handler(label, "", dimensions, .gauge) { PrometheusGauge($0, $1) }
  }

  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    if aggregate {
      handler(label, "", dimensions, .histogram) { PrometheusHistogram($0, $1, bounds: Self.sizeBuckets) }
    } else {
      handler(label, "", dimensions, .gauge) { PrometheusGauge($0, $1) }
    }
  }

  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    handler(label, "_seconds", dimensions, .histogram) { PrometheusHistogram($0, $1, bounds: Self.timeBuckets) }
  }

  // Counters persist: Prometheus would take a series that disappears and returns for a restart.
  public func destroyCounter(_ handler: any CounterHandler) {}
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  public func destroyTimer(_ handler: any TimerHandler) {}
  // A gauge states the present: an abandoned one would keep reporting the past.
  public func destroyMeter(_ handler: any MeterHandler) { remove(handler as? PrometheusGauge) }
  public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler as? PrometheusGauge) }

  private func remove(_ gauge: PrometheusGauge?) {
    guard let gauge else { return }
    state.withLock { $0.families[gauge.family]?.remove(gauge) }
  }

  private func handler<Handler: PrometheusSeries>(
    _ label: String, _ suffix: String, _ dimensions: [(String, String)], _ kind: PrometheusFamily.Kind,
    make: @Sendable (_ name: String, _ labels: String) -> Handler
  ) -> Handler {
    let source = PrometheusText.name(label)
    let name = source.hasSuffix(suffix) ? source : source + suffix
    var labels = dimensions.map { PrometheusLabel(name: PrometheusText.labelName($0.0), value: $0.1) }
    labels.sort { $0.name < $1.name }
    let sorted = labels
    return state.withLock { state in
      var family = state.families[name] ?? PrometheusFamily(name: name, kind: kind, source: source)
      // A name cannot be exported with two kinds: the second handler works but is not shown.
      guard family.kind == kind else { return make(name, "") }
      var key = sorted
      if family.series[key] == nil, family.series.count >= seriesLimit {
        key = sorted.map { PrometheusLabel(name: $0.name, value: "other") }
      }
      if let known = family.series[key] as? Handler { return known }
      let made = make(name, PrometheusText.text(key))
      family.add(made, key)
      state.families[name] = family
      return made
    }
  }
}
