/// What became of a batch of records.
public struct FirebaseOutcome: Sendable {
  var added = 0
  /// Records that an earlier run, or an earlier record, brought already.
  var known = 0
  /// The reasons for records that are not imported, by their index in the batch.
  var rejected: [Int: String] = [:]
  /// What was changed in records that are imported, likewise.
  var changed: [Int: String] = [:]
  /// Pictures elsewhere on the web, which are not fetched.
  var externalPictures = 0
  /// Feed rows, jobs and the like that are left to do: 0 for none.
  var remaining = 0

  mutating func add(_ other: FirebaseOutcome) {
    added += other.added
    known += other.known
    rejected.merge(other.rejected) { first, _ in first }
    changed.merge(other.changed) { first, _ in first }
    externalPictures += other.externalPictures
  }
}

/// A record in its place of a batch.
struct BatchItem<Value: Sendable>: Sendable {
  let index: Int
  let value: Value
}
