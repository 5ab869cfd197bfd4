import DurableJobs

extension JobRecord {
  /// A job for a test that only looks at how it moves.
  public static func test(
    _ payload: String = "{}", kind: JobKind = "test.job", queue: QueueName = .default,
    priority: JobPriority = .normal, version: Int = 1, isDurable: Bool = true, runAt: Int64? = nil,
    uniqueKey: String? = nil
  ) -> JobRecord {
    JobRecord(
      kind: kind, queue: queue, priority: priority, version: version, payload: Array(payload.utf8),
      isDurable: isDurable, runAt: runAt, uniqueKey: uniqueKey)
  }

  public var text: String { String(decoding: payload, as: UTF8.self) }
}
