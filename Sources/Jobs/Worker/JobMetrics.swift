import Metrics

/// The counters of one queue: made once, a handle a kind, so that the labels stay few and counting stays cheap.
struct JobMetrics: Sendable {
  private struct Handles: Sendable {
    let completed: Counter
    let failed: Counter
    let dead: Counter
    let repeated: Counter
  }

  private let kinds: [JobKind: Handles]

  init(queue: QueueName, kinds: [JobKind]) {
    self.kinds = Dictionary(
      uniqueKeysWithValues: kinds.map { kind in
        func counter(_ outcome: String) -> Counter {
          Counter(
            label: "fanmill_jobs_total",
            dimensions: [("queue", queue.rawValue), ("kind", kind.rawValue), ("outcome", outcome)])
        }
        let repeated = Counter(
          label: "fanmill_job_repeats_total", dimensions: [("queue", queue.rawValue), ("kind", kind.rawValue)])
        return (
          kind,
          Handles(
            completed: counter("completed"), failed: counter("failed"), dead: counter("dead"), repeated: repeated)
        )
      })
  }

  func completed(_ record: JobRecord) { kinds[record.kind]?.completed.increment() }
  func failed(_ record: JobRecord) { kinds[record.kind]?.failed.increment() }
  /// An attempt begins that is not the job's first: after a failure, or after its worker died.
  func repeats(_ record: JobRecord) { kinds[record.kind]?.repeated.increment() }
  func died(_ record: JobRecord) { kinds[record.kind]?.dead.increment() }
}
