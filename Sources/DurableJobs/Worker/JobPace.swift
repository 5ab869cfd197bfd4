/// How long the jobs of a queue take, as a moving average.
struct JobPace {
  /// For so many nanoseconds of work is claimed ahead, and for so many jobs at most.
  private static let lookahead = 10_000_000.0
  private static let maxAhead = 1000

  /// Nanoseconds; nil before the first has ended.
  private var average: Double?

  /// - Parameter assumed: how long a job is taken to last until one has ended.
  init(assumed: Duration?) { average = assumed.map { Double($0.nanoseconds) } }

  /// A job took so many nanoseconds.
  mutating func note(_ nanoseconds: Int64) {
    let each = Double(nanoseconds)
    // Slow jobs count more, so that the next claim does not pile jobs up behind one; fast ones must prove themselves.
    let old = average ?? each
    average = each > old ? old + (each - old) * 0.25 : old + (each - old) * 0.05
  }

  /// How many jobs to claim beyond those that run. Before it is known how long jobs take none, since another worker may
  /// be idle.
  func ahead(_ concurrency: Int) -> Int {
    guard let average else { return 0 }
    return Int(min(Double(concurrency) * Self.lookahead / max(average, 100), Double(Self.maxAhead)))
  }
}
