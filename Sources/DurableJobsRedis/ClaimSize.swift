import DurableJobs

/// How many jobs a claim asks for, so that what comes is about a batch of bytes: Redis bounds a read by its entries
/// alone.
///
/// It goes by the largest record that came lately. Large ones that follow many small ones may exceed the batch once.
struct ClaimSize {
  /// In bytes.
  private var largest = PayloadLimit.unrecorded
  /// How many streams the last read found something in, each of which gives so many.
  private var streams = 1

  func count(_ wanted: Int) -> Int { min(wanted, max(1, PayloadLimit.batch / (largest * streams))) }

  mutating func note(_ arrived: StreamReading) {
    if arrived.largest == 0 { return }
    // Half of what it was, at the least: one large record does not slow small ones down for long.
    largest = max(arrived.largest, largest / 2)
    streams = max(1, arrived.last.count { $0 != nil })
  }
}
