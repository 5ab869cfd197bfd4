import Synchronization

/// How large payloads may be, and how many bytes of them travel together.
///
/// The ledger keeps payloads of any size up to the limit. The broker carries small ones, so that a job costs no other
/// read; a larger payload of a durable job stays in the ledger, and the worker that runs the job reads it there.
public enum PayloadLimit {
  /// The most bytes that the broker carries of a durable job: 16 KiB. A larger payload stays in the ledger.
  public static let carried = 16 << 10
  /// The most bytes of a job that is pushed without a record in the ledger: 64 KiB.
  public static let unrecorded = 64 << 10
  /// The most bytes of payloads in one push, claim, read or write: 4 MiB. A larger payload travels alone.
  public static let batch = 4 << 20
  /// The limit unless a process sets another one: 1 MiB.
  public static let standard = 1 << 20

  private static let limit = Atomic<Int>(standard)

  /// The most bytes of a payload that this process takes in. Jobs that are pending already run whatever their size.
  public static var job: Int { limit.load(ordering: .relaxed) }

  /// Sets the limit for this process, when it starts.
  public static func set(_ bytes: Int) {
    precondition(bytes > 0, "a payload limit must be at least one byte")
    limit.store(bytes, ordering: .relaxed)
  }
}

extension JobRecord {
  /// How many bytes the payload has, wherever it is.
  public var payloadSize: Int { payloadInLedger ?? payload.count }

  /// How many bytes of the payload stay in the ledger when the broker gets the record; nil where the broker carries it.
  package var leftBytes: Int? {
    payloadInLedger ?? (isDurable && payload.count > PayloadLimit.carried ? payload.count : nil)
  }

  /// How many bytes of the payload the broker carries.
  package var carriedBytes: Int { leftBytes == nil ? payload.count : 0 }

  /// The record as the broker carries it.
  package var carried: JobRecord {
    guard let leftBytes else { return self }
    var record = self
    record.payload = []
    record.payloadInLedger = leftBytes
    return record
  }
}

extension Collection<JobRecord> {
  /// The records as the broker carries them.
  package var carried: [JobRecord] {
    contains { $0.leftBytes != nil } ? map(\.carried) : Array(self)
  }
}

extension ArraySlice<JobRecord> {
  /// The records in order, at most `count` in a batch and at most `PayloadLimit.batch` bytes of payloads. A larger
  /// payload is a batch of its own.
  ///
  /// - Parameter isWhole: whether payloads are counted that stay in the ledger when the broker gets the record.
  package func batches(of count: Int = .max, isWhole: Bool = false) -> [ArraySlice] {
    var batches: [ArraySlice] = []
    var (start, bytes) = (startIndex, 0)
    for index in indices {
      let more = isWhole ? self[index].payload.count : self[index].carriedBytes
      if index > start, index - start >= count || bytes + more > PayloadLimit.batch {
        batches.append(self[start..<index])
        (start, bytes) = (index, 0)
      }
      bytes += more
    }
    if start < endIndex { batches.append(self[start...]) }
    return batches
  }
}
