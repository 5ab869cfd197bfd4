/// What became of one queue's jobs since somebody last looked, in plain numbers: kinds are places in a list.
struct JobTally {
  /// How an attempt ended.
  enum Outcome {
    case completed, failed, dead
  }

  /// One attempt's part in it.
  struct Entry {
    /// The kind's place.
    var kind: Int
    var outcome: Outcome
    /// Nanoseconds.
    var run: Int64
    /// Nanoseconds.
    var wait: Int64
  }

  private(set) var counts: [JobCounts]

  init(kinds: Int) { counts = Array(repeating: JobCounts(), count: kinds) }

  mutating func add(_ entry: Entry) {
    switch entry.outcome {
    case .completed: counts[entry.kind].completed += 1
    case .failed: counts[entry.kind].failed += 1
    case .dead: counts[entry.kind].dead += 1
    }
    counts[entry.kind].run += entry.run
    counts[entry.kind].wait += entry.wait
  }
}
