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

  let kind: Kind
  /// The name that the code gave, before a unit or `_total` was put behind it.
  let source: String
  var series: [[PrometheusLabel]: any PrometheusSeries] = [:]
}

/// What one series holds at the moment of a scrape.
enum PrometheusSample {
  case number(Double)
  /// `counts[i]` is how many values lie at or below `bounds[i]` and above the bound before it; the last is above all.
  case distribution(bounds: [Double], counts: [Int], sum: Double)
}

protocol PrometheusSeries: AnyObject, Sendable {
  func sample() -> PrometheusSample
}
