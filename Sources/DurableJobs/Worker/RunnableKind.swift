/// A kind that can run here. A class, so that a job copies a reference instead of closures, names and policies.
final class RunnableKind<L: Ledger>: Sendable {
  let entry: JobRegistry<L>.Entry
  let middleware: MiddlewareChain

  init(_ entry: JobRegistry<L>.Entry, in queue: QueueName, _ middleware: MiddlewareChain) {
    self.entry = entry
    self.middleware = middleware.serving(entry.kind, in: queue, isHome: entry.queue == queue)
  }

  /// The time limit of an attempt at a claim's job.
  func timeout(of claim: Claim) -> Duration? {
    entry.handler.batchLimit == nil ? claim.record.timeout ?? entry.timeout : entry.timeout
  }

  /// A registry's kinds, in the order of its `KindTable`.
  static func all(
    _ registry: JobRegistry<L>, in queue: QueueName, _ middleware: MiddlewareChain
  ) -> [RunnableKind] {
    registry.kinds.compactMap { kind in registry.entries[kind].map { RunnableKind($0, in: queue, middleware) } }
  }
}
