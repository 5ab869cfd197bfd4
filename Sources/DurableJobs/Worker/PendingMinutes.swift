/// A worker's counts that its registry has not confirmed.
///
/// Minutes are sent in numbered batches. A report without an answer may have been counted, so its batch is sent again
/// unchanged under the same number, and newer counts wait for the next batch.
struct PendingMinutes {
  /// The current batch's number; 0 before the first.
  private(set) var number: Int64 = 0
  /// The current batch, until it is confirmed.
  private(set) var batch: [JobMinute] = []
  private var later: [JobMinute] = []

  /// Whether a batch was sent and not confirmed.
  var isUnconfirmed: Bool { !batch.isEmpty }

  /// Adds counts, merged by minute, queue and kind.
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

  /// The batch for the next report.
  mutating func next() -> (number: Int64, minutes: [JobMinute]) {
    if batch.isEmpty, !later.isEmpty {
      (number, batch, later) = (number + 1, later, [])
    }
    return (number, batch)
  }

  /// The report was answered.
  mutating func confirm() { batch = [] }
}
