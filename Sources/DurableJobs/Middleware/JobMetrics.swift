import Locking
import Logging
import Metrics

/// Counts attempts by queue, kind and outcome, and times how long jobs waited and ran (swift-metrics).
public struct JobMetrics: JobMiddleware {
  public init() {}

  public var hooks: JobHooks { .ended }

  public func serving(_ kind: JobKind, in queue: QueueName, isHome: Bool) -> any JobMiddleware {
    KindMetrics(queue: queue, kind: kind, isHome: isHome)
  }
}

/// The counters and timers of one kind in one queue, created once. A kind outside its own queue gets them with its
/// first job there, since most kinds never run there.
private struct KindMetrics: JobMiddleware {
  private struct Handles: Sendable {
    let outcomes: [AttemptEnd.Outcome: Counter]
    let repeated: Counter
    let run: Timer
    let wait: Timer

    init(_ queue: QueueName, _ kind: JobKind) {
      let labels = [("queue", queue.rawValue), ("kind", kind.rawValue)]
      outcomes = Dictionary(
        uniqueKeysWithValues: [.completed, .failed, .dead, .discarded].map { (outcome: AttemptEnd.Outcome) in
          (outcome, Counter(label: "fanmill_jobs_total", dimensions: labels + [("outcome", "\(outcome)")]))
        })
      repeated = Counter(label: "fanmill_job_repeats_total", dimensions: labels)
      run = Timer(label: "fanmill_job_run_seconds", dimensions: labels)
      wait = Timer(label: "fanmill_job_wait_seconds", dimensions: labels)
    }
  }

  private let queue: QueueName
  private let kind: JobKind
  private let made: Locked<Handles?>

  var hooks: JobHooks { .ended }

  /// - Parameter isHome: whether the queue is the kind's own; its series then start at 0 with the worker.
  init(queue: QueueName, kind: JobKind, isHome: Bool) {
    self.queue = queue
    self.kind = kind
    made = Locked(isHome ? Handles(queue, kind) : nil)
  }

  private var handles: Handles {
    made.withLock { made in
      let handles = made ?? Handles(queue, kind)
      made = handles
      return handles
    }
  }

  func ended(_ end: AttemptEnd, logger: Logger) {
    let handles = handles
    guard let counter = handles.outcomes[end.outcome] else { return }
    counter.increment()
    if end.claim.attempt > 1 { handles.repeated.increment() }
    handles.run.recordNanoseconds(end.runTime.nanoseconds)
    handles.wait.recordNanoseconds(end.waitTime.nanoseconds)
  }
}
