import DurableJobsPostgres

/// The state of a durable job, as the ledger and the workers' reports show it.
public enum JobState: String, Codable, Sendable, CaseIterable {
  /// Due, and not reported as running.
  case waiting
  /// Reported as running by a worker, up to a second ago.
  case running
  /// Not due yet.
  case delayed
  /// Failed, and not yet due again.
  case retrying
  /// No worker knows its kind and version.
  case parked
  /// Out of attempts, and no longer retried.
  case dead
  /// Finished. Jobs that never failed leave no record.
  case done
  /// Cancelled by an operator or the app.
  case cancelled
  /// A dead letter that an operator deleted.
  case deleted
  /// Its handler discarded it, with a reason.
  case discarded
  /// A dead letter that was retried with another payload, as another job.
  case replaced

  /// Whether the job is still pending in the ledger.
  public var isPending: Bool {
    switch self {
    case .waiting, .running, .delayed, .retrying, .parked: true
    case .dead, .done, .cancelled, .deleted, .discarded, .replaced: false
    }
  }
}

extension JobState {
  /// The state in the job's row, where a running job looks like a waiting one.
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

  /// The ledger's name for the state; nil for a state that is not pending, or that the ledger does not know.
  var pending: PendingState? {
    switch self {
    case .waiting: .waiting
    case .delayed: .delayed
    case .retrying: .retrying
    case .parked: .parked
    case .running, .dead, .done, .cancelled, .deleted, .discarded, .replaced: nil
    }
  }

  /// The recorded end; nil for a state that is not such an end.
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
