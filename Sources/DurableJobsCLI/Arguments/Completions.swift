import ArgumentParser
import DurableJobs
import DurableJobsAdmin

extension CompletionKind {
  // Completion scripts embed both lists, so completing a word starts no process.

  /// The kinds of jobs.
  static func kinds<P: QueueProgram>(of program: P.Type) -> CompletionKind { .list(P.kinds.names) }
  /// The queues that these kinds name.
  static func queues<P: QueueProgram>(of program: P.Type) -> CompletionKind { .list(P.kinds.queues.map(\.rawValue)) }
}
