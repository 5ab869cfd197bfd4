import Metrics

/// The counters and timers of one kind in one queue: made once, so that the labels stay few and counting stays cheap.
struct JobMetrics: Sendable {
  private let completed: Counter
  private let failed: Counter
  private let dead: Counter
  private let repeated: Counter
  private let run: Timer
  private let wait: Timer

  init(queue: QueueName, kind: JobKind) {
    let labels = [("queue", queue.rawValue), ("kind", kind.rawValue)]
    func counter(_ outcome: String) -> Counter {
      Counter(label: "fanmill_jobs_total", dimensions: labels + [("outcome", outcome)])
    }
    completed = counter("completed")
    failed = counter("failed")
    dead = counter("dead")
    repeated = Counter(label: "fanmill_job_repeats_total", dimensions: labels)
    run = Timer(label: "fanmill_job_run_seconds", dimensions: labels)
    wait = Timer(label: "fanmill_job_wait_seconds", dimensions: labels)
  }

  /// An attempt has ended.
  func ended(_ entry: JobTally.Entry) {
    switch entry.outcome {
    case .completed: completed.increment()
    case .failed: failed.increment()
    case .dead: dead.increment()
    }
    run.recordNanoseconds(entry.run)
    wait.recordNanoseconds(entry.wait)
  }

  /// An attempt begins that is not the job's first: after a failure, or after its worker died.
  func repeats() { repeated.increment() }
}
