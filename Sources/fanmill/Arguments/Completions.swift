import ArgumentParser
import Jobs
import Operations

extension CompletionKind {
  /// The kinds of jobs, told by this program alone: no server is asked while somebody types.
  static let kinds = CompletionKind.custom { _, _, _ in JobKinds.app.list.map(\.kind) }
  /// The queues that they name.
  static let queues = CompletionKind.custom { _, _, _ in JobKinds.app.queues.map(\.rawValue) }
}
