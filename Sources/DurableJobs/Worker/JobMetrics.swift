import Locking
import Metrics

/// The counters and timers of one kind in one queue: made once, so that the labels stay few and counting stays cheap;
/// of a kind that belongs into another queue when the first of its jobs is met here, since mostly none ever is.
struct JobMetrics: Sendable {
  private struct Handles: Sendable {
    let completed: Counter
    let failed: Counter
    let dead: Counter
    let discarded: Counter
    let repeated: Counter
    let run: Timer
    let wait: Timer

    init(_ queue: QueueName, _ kind: JobKind) {
      let labels = [("queue", queue.rawValue), ("kind", kind.rawValue)]
      func counter(_ outcome: String) -> Counter {
        Counter(label: "fanmill_jobs_total", dimensions: labels + [("outcome", outcome)])
      }
      completed = counter("completed")
      failed = counter("failed")
      dead = counter("dead")
      discarded = counter("discarded")
      repeated = Counter(label: "fanmill_job_repeats_total", dimensions: labels)
      run = Timer(label: "fanmill_job_run_seconds", dimensions: labels)
      wait = Timer(label: "fanmill_job_wait_seconds", dimensions: labels)
    }
  }

  private let queue: QueueName
  private let kind: JobKind
  private let made: Locked<Handles?>

  /// - Parameter isAtHome: whether the queue is the kind's own: then its series are there from the beginning, with 0.
  init(queue: QueueName, kind: JobKind, isAtHome: Bool) {
    self.queue = queue
    self.kind = kind
    made = Locked(isAtHome ? Handles(queue, kind) : nil)
  }

  private var handles: Handles {
    made.withLock { made in
      let handles = made ?? Handles(queue, kind)
      made = handles
      return handles
    }
  }

  /// An attempt has ended.
  ///
  /// - Parameters:
  ///   - run: how long it took, in nanoseconds.
  ///   - wait: how long the job was ready before, in nanoseconds.
  func ended(_ attempt: JobOutcome.Attempt, run: Int64, wait: Int64) {
    let handles = handles
    switch attempt {
    case .completed: handles.completed.increment()
    case .failed: handles.failed.increment()
    case .dead: handles.dead.increment()
    case .discarded: handles.discarded.increment()
    }
    handles.run.recordNanoseconds(run)
    handles.wait.recordNanoseconds(wait)
  }

  /// An attempt begins that is not the job's first: after a failure, or after its worker died.
  func repeats() { handles.repeated.increment() }
}
