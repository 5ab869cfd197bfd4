/// One label of a series.
struct PrometheusLabel: Hashable, Sendable {
  let name: String
  let value: String
}

/// A metric name's kind and series, one per combination of label values.
struct PrometheusFamily: Sendable {
  enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  let name: String
  let kind: Kind
  /// The name in the code, before a unit or `_total` is appended.
  let source: String
  private(set) var series: [[PrometheusLabel]: any PrometheusSeries] = [:]
  /// The series in output order, by labels.
  private(set) var inOrder: [any PrometheusSeries] = []

  init(name: String, kind: Kind, source: String) {
    self.name = name
    self.kind = kind
    self.source = source
  }

  mutating func add(_ made: any PrometheusSeries, _ labels: [PrometheusLabel]) {
    series[labels] = made
    var low = 0
    var high = inOrder.count
    while low < high {
      let middle = (low + high) / 2
      if inOrder[middle].labels < made.labels { low = middle + 1 } else { high = middle }
    }
    inOrder.insert(made, at: low)
  }

  mutating func remove(_ gone: any PrometheusSeries) {
    guard let key = series.first(where: { $0.value === gone })?.key else { return }
    series[key] = nil
    inOrder.removeAll { $0 === gone }
  }
}

/// One series: its value, and its text form.
protocol PrometheusSeries: AnyObject, Sendable {
  /// `a="x",b="y"`, escaped and sorted; empty without labels.
  var labels: String { get }
  /// Writes the series' current lines.
  func write(to text: inout PrometheusText)
}
