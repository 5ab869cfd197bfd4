import Synchronization

/// Limits on the size of payloads, alone and in batches.
///
/// The ledger stores payloads of any size up to the limit. The broker carries small ones, so that a job needs no other
/// read; a durable job's larger payload stays in the ledger, and the worker reads it there when the job runs.
public enum PayloadLimit {
  /// The largest payload of a durable job that the broker carries: 16 KiB. A larger one stays in the ledger.
  public static let carried = 16 << 10
  /// The largest payload of a job pushed without a record in the ledger: 64 KiB.
  public static let unrecorded = 64 << 10
  /// The most payload bytes in one push, claim, read or write: 4 MiB. A larger payload travels alone.
  public static let batch = 4 << 20
  /// The default limit: 1 MiB.
  public static let standard = 1 << 20

  private static let limit = Atomic<Int>(standard)

  /// The largest payload that this process accepts, in bytes. Pending jobs run regardless of their size.
  public static var job: Int { limit.load(ordering: .relaxed) }

  /// Sets the limit for this process, at its start.
  public static func set(_ bytes: Int) {
    precondition(bytes > 0, "a payload limit must be at least one byte")
    limit.store(bytes, ordering: .relaxed)
  }
}

extension JobRecord {
  /// The payload's size in bytes, wherever it is stored.
  public var payloadSize: Int { payloadInLedger ?? payload.count }

  /// The payload bytes that stay in the ledger when the job is pushed; nil if the broker carries the payload.
  package var leftBytes: Int? {
    payloadInLedger ?? (isDurable && payload.count > PayloadLimit.carried ? payload.count : nil)
  }

  /// The payload bytes that the broker carries.
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
  /// The records in order, in batches of at most `count` records and `PayloadLimit.batch` bytes of payloads. A larger
  /// payload is a batch of its own.
  ///
  /// - Parameter isWhole: whether payloads count that stay in the ledger when the job is pushed.
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
