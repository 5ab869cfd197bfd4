import DurableJobsPostgres

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
  /// A dead letter that an operator deleted.
  case deleted
  /// Its handler discarded it, with a reason.
  case discarded
  /// A dead letter that was retried with another payload, as another job.
  case replaced

  /// Whether the ledger still owes it.
  public var isPending: Bool {
    switch self {
    case .waiting, .running, .delayed, .retrying, .parked: true
    case .dead, .done, .cancelled, .deleted, .discarded, .replaced: false
    }
  }
}

extension JobState {
  /// As the job's row tells it; a job that runs looks like one that waits.
  init(_ place: JobRow.Place) {
    self =
      switch place {
      case .pending(.waiting): .waiting
      case .pending(.delayed): .delayed
      case .pending(.retrying): .retrying
      case .pending(.parked): .parked
      case .dead: .dead
      case .ended(.done, _): .done
      case .ended(.cancelled, _): .cancelled
      case .ended(.deleted, _): .deleted
      case .ended(.discarded, _): .discarded
      case .ended(.replaced, _): .replaced
      }
  }

  /// What the ledger calls it; nil for a state that is none of a pending job, or that the ledger does not know.
  var pending: PendingState? {
    switch self {
    case .waiting: .waiting
    case .delayed: .delayed
    case .retrying: .retrying
    case .parked: .parked
    case .running, .dead, .done, .cancelled, .deleted, .discarded, .replaced: nil
    }
  }

  /// The end of which a record is kept; nil for a state that is no such end.
  var end: EndState? {
    switch self {
    case .done: .done
    case .cancelled: .cancelled
    case .deleted: .deleted
    case .discarded: .discarded
    case .replaced: .replaced
    case .waiting, .running, .delayed, .retrying, .parked, .dead: nil
    }
  }
}
