import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import SocialAdmin

extension CompletionKind {
  // Both stand in the completion scripts themselves: nothing is started while somebody types.

  /// The kinds of jobs.
  static let kinds = CompletionKind.list(JobKinds.app.names)
  /// The queues that they name.
  static let queues = CompletionKind.list(JobKinds.app.queues.map(\.rawValue))
}
