/// A row of the table: a Fanmill figure with one sample per run, and the figures to compare it with.
struct Figure: Sendable {
  enum Unit: String, Sendable {
    case perSecond = "/s"
    case milliseconds = "ms"
    case seconds = "s"
    case megabytes = "MB"
    case microseconds = "µs"
    case rowsPerSecond = "rows/s"
    case commandsPerSecond = "commands/s"
    case times = "×"

    var isBetterWhenHigher: Bool { self == .perSecond || self == .rowsPerSecond || self == .times }
  }

  let title: String
  let unit: Unit
  let bounds: [Bound]
  var samples: [Double] = []
  /// The same work in plain C on the same server, in the same unit.
  var raw: [Double] = []
  /// The same work by Sidekiq, in the same unit; empty if it is not installed or has no equivalent.
  var sidekiq: [Double] = []

  init(_ title: String, _ unit: Unit, _ bounds: [Bound] = []) {
    self.title = title
    self.unit = unit
    self.bounds = bounds
  }

  var median: Double? { Self.median(samples) }
  var rawMedian: Double? { Self.median(raw) }
  var sidekiqMedian: Double? { Self.median(sidekiq) }

  /// How many times better Fanmill is than the other.
  func ratio(to other: Double?) -> Double? {
    guard let median, let other, median > 0, other > 0 else { return nil }
    return unit.isBetterWhenHigher ? median / other : other / median
  }

  /// Each bound and whether it holds; nil for one without a value to compare with.
  var verdicts: [(bound: Bound, holds: Bool?)] {
    bounds.map { bound in
      let holds: Bool? =
        switch bound {
        case .atLeast(let value): median.map { $0 >= value }
        case .atMost(let value): median.map { $0 <= value }
        case .ofRaw(let factor): ratio(to: rawMedian).map { $0 >= factor }
        case .timesSidekiq(let factor): ratio(to: sidekiqMedian).map { $0 >= factor }
        }
      return (bound, holds)
    }
  }

  static func median(_ values: [Double]) -> Double? {
    if values.isEmpty { return nil }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// The smallest value that is at least `share` of all values (nearest rank).
  static func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    return sorted[max(0, min(sorted.count - 1, Int((share * Double(sorted.count)).rounded(.up)) - 1))]
  }
}

/// The required value of a figure.
enum Bound: Sendable {
  case atLeast(Double)
  case atMost(Double)
  /// At least this fraction of plain C's value.
  case ofRaw(Double)
  /// At least this many times Sidekiq's value.
  case timesSidekiq(Double)
}
