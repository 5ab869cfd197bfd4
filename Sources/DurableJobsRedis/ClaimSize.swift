import DurableJobs

/// Limits the jobs that a claim requests, so that they amount to about one batch of bytes: Redis bounds a read only by
/// its number of entries.
///
/// The limit follows the largest recent record. Large records after many small ones may exceed the batch once.
struct ClaimSize {
  /// In bytes.
  private var largest = PayloadLimit.unrecorded
  /// The number of streams with entries in the last read; the count applies to each stream.
  private var streams = 1

  func count(_ wanted: Int) -> Int { min(wanted, max(1, PayloadLimit.batch / (largest * streams))) }

  mutating func note(_ arrived: StreamReading) {
    if arrived.largest == 0 { return }
    // It falls by at most half, so that one large record does not slow small ones down for long.
    largest = max(arrived.largest, largest / 2)
    streams = max(1, arrived.last.count { $0 != nil })
  }
}
