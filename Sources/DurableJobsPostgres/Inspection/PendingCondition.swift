import DurableJobs

/// SQL conditions on pending jobs, for statements that compare a program's own rows with them.
extension JobsSchema {
  /// Whether a job is pending in a queue.
  ///
  /// - Parameter id: an SQL expression for the job's id.
  package func isPending(_ id: String, in queue: QueueName) -> String {
    "EXISTS (SELECT FROM \(jobs) AS pending WHERE pending.queue = \(Self.literal(queue.rawValue)) AND pending.id = \(id))"
  }

  /// Whether any job of a kind is pending in a queue.
  package func isPending(_ kind: JobKind, in queue: QueueName) -> String {
    """
    EXISTS (
      SELECT FROM \(jobs) AS pending
      WHERE pending.queue = \(Self.literal(queue.rawValue)) AND pending.kind = \(Self.literal(kind.rawValue)))
    """
  }

  private static func literal(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }
}
