/// One label of a series.
struct PrometheusLabel: Hashable, Sendable {
  let name: String
  let value: String
}

/// Everything of one name: its kind and its series, one for each combination of label values.
struct PrometheusFamily: Sendable {
  enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  let name: String
  let kind: Kind
  /// The name that the code gave, before a unit or `_total` was put behind it.
  let source: String
  private(set) var series: [[PrometheusLabel]: any PrometheusSeries] = [:]
  /// The series as they are written, by their labels.
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

/// One series: what it holds, and how that is written.
protocol PrometheusSeries: AnyObject, Sendable {
  /// `a="x",b="y"`, escaped and sorted; empty without labels.
  var labels: String { get }
  /// Writes its lines as they are at this moment.
  func write(to text: inout PrometheusText)
}
