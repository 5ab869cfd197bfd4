/// Where a durable job is, as the ledger and the workers' reports know it.
public enum JobState: String, Codable, Sendable, CaseIterable {
  /// Due, and in nobody's hands as far as workers have said.
  case waiting
  /// A worker says that it runs it, as of a second ago.
  case running
  /// Not due yet.
  case delayed
  /// Failed, and not due again yet.
  case retrying
  /// No worker knows its kind and version.
  case parked
  /// Not tried any more.
  case dead
  /// Done. Of jobs that never failed no record is kept.
  case done
  /// Somebody did not want it any more.
  case cancelled
  /// A dead letter that somebody threw away.
  case deleted

  /// Whether the ledger still owes it.
  public var isPending: Bool {
    switch self {
    case .waiting, .running, .delayed, .retrying, .parked: true
    case .dead, .done, .cancelled, .deleted: false
    }
  }
}
