/// What a worker has done and its registry has not confirmed.
///
/// Minutes leave in numbered batches. One whose report got no answer may have been added all the same, so it is told
/// again as it was, under its number, and what was done since waits for the next.
struct UntoldMinutes {
  /// Of the batch that is told; 0 before the first.
  private(set) var number: Int64 = 0
  /// The batch that is told until it is confirmed.
  private(set) var batch: [JobMinute] = []
  private var later: [JobMinute] = []

  /// Whether a batch was told and not confirmed.
  var isUnconfirmed: Bool { !batch.isEmpty }

  /// Adds what was done, to one entry for each minute, queue and kind.
  mutating func add(_ minutes: [JobMinute]) {
    for minute in minutes {
      if let place = later.firstIndex(where: {
        $0.minute == minute.minute && $0.queue == minute.queue && $0.kind == minute.kind
      }) {
        later[place].counts += minute.counts
      } else {
        later.append(minute)
      }
    }
  }

  /// What the next report brings.
  mutating func next() -> (number: Int64, minutes: [JobMinute]) {
    if batch.isEmpty, !later.isEmpty {
      (number, batch, later) = (number + 1, later, [])
    }
    return (number, batch)
  }

  /// The report was answered.
  mutating func confirm() { batch = [] }
}
