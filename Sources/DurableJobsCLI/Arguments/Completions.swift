import ArgumentParser
import DurableJobs
import DurableJobsAdmin

extension CompletionKind {
  // Both stand in the completion scripts themselves: nothing is started while somebody types.

  /// The kinds of jobs.
  static func kinds<P: QueueProgram>(of program: P.Type) -> CompletionKind { .list(P.kinds.names) }
  /// The queues that they name.
  static func queues<P: QueueProgram>(of program: P.Type) -> CompletionKind { .list(P.kinds.queues.map(\.rawValue)) }
}
