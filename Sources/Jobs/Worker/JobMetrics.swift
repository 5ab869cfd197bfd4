import Metrics

/// The counters of one queue: made once, a handle a kind, so that the labels stay few and counting stays cheap.
struct JobMetrics: Sendable {
  private struct Handles: Sendable {
    let completed: Counter
    let failed: Counter
    let dead: Counter
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
        return (
          kind, Handles(completed: counter("completed"), failed: counter("failed"), dead: counter("dead"))
        )
      })
  }

  func completed(_ record: JobRecord) { kinds[record.kind]?.completed.increment() }
  func failed(_ record: JobRecord) { kinds[record.kind]?.failed.increment() }
  func died(_ record: JobRecord) { kinds[record.kind]?.dead.increment() }
}
