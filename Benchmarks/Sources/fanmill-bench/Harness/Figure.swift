/// One line of the table: a figure of Fanmill, one sample a run, and those that it stands beside.
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
  /// The same work by Sidekiq, in the same unit; empty where it is not installed or has nothing like it.
  var sidekiq: [Double] = []

  init(_ title: String, _ unit: Unit, _ bounds: [Bound] = []) {
    self.title = title
    self.unit = unit
    self.bounds = bounds
  }

  var median: Double? { Self.median(samples) }
  var rawMedian: Double? { Self.median(raw) }
  var sidekiqMedian: Double? { Self.median(sidekiq) }

  /// How many times as good as the other Fanmill is.
  func ratio(to other: Double?) -> Double? {
    guard let median, let other, median > 0, other > 0 else { return nil }
    return unit.isBetterWhenHigher ? median / other : other / median
  }

  /// Each bound with whether it holds; nil for one that has nothing to be compared with.
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

  /// The least value that is no less than `share` of all values (nearest rank).
  static func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return .nan }
    return sorted[max(0, min(sorted.count - 1, Int((share * Double(sorted.count)).rounded(.up)) - 1))]
  }
}

/// What a figure must reach.
enum Bound: Sendable {
  case atLeast(Double)
  case atMost(Double)
  /// At least this part of what plain C reaches.
  case ofRaw(Double)
  /// At least so many times as good as Sidekiq.
  case timesSidekiq(Double)
}
