/// Where a durable job is, as the ledger knows it.
public enum JobState: String, Codable, Sendable, CaseIterable {
  /// Due: ready in the broker, or in a worker's hands.
  case waiting
  /// Not due yet.
  case delayed
  /// Failed, and not due again yet.
  case retrying
  /// No worker knows its kind and version.
  case parked
  /// Not tried any more.
  case dead
}
