/// How long a queue's jobs take, as a moving average.
struct JobPace {
  /// Nanoseconds of work to claim ahead, up to `maxAhead` jobs.
  private static let lookahead = 10_000_000.0
  private static let maxAhead = 1000

  /// Nanoseconds; nil until the first job has ended.
  private var average: Double?

  /// - Parameter assumed: the assumed duration of a job until one has ended.
  init(assumed: Duration?) { average = assumed.map { Double($0.nanoseconds) } }

  /// Records a job's duration.
  mutating func note(_ nanoseconds: Int64) {
    let each = Double(nanoseconds)
    // Slow jobs count more, so that the next claim does not pile up jobs behind one.
    let old = average ?? each
    average = each > old ? old + (each - old) * 0.25 : old + (each - old) * 0.05
  }

  /// How many jobs to claim beyond those that run. None until durations are known, since another worker may be idle.
  func ahead(_ concurrency: Int) -> Int {
    guard let average else { return 0 }
    return Int(min(Double(concurrency) * Self.lookahead / max(average, 100), Double(Self.maxAhead)))
  }
}
