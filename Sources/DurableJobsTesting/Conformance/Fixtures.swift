import DurableJobs
import Locking
import Logging

/// A gate that opens once, for all waiters.
final class Gate: Sendable {
  private let isOpen = Locked(false)
  var hasOpened: Bool { isOpen.withLock { $0 } }
  func open() { isOpen.withLock { $0 = true } }
  func wait() async throws { try await eventually("the gate opens") { hasOpened } }
}

/// Thrown by a check to roll a transaction back.
struct Rollback: Error {}

extension Logger {
  static var quiet: Logger { Logger(label: "conformance") { _ in SwiftLogNoOpLogHandler() } }
}

extension JobRecord {
  /// A job for checks of its state changes only.
  ///
  /// - Parameter runAt: in milliseconds since 1970.
  package static func test(
    _ payload: String = "{}", kind: JobKind = "test.job", queue: QueueName = .default,
    priority: JobPriority = .normal, version: Int = 1, isDurable: Bool = true, runAt: Int64? = nil,
    uniqueKey: String? = nil
  ) -> JobRecord {
    JobRecord(
      kind: kind, queue: queue, priority: priority, version: version, payload: Array(payload.utf8),
      isDurable: isDurable, runAt: runAt.map { .init(unixMilliseconds: $0) }, uniqueKey: uniqueKey)
  }

  package var text: String { String(decoding: payload, as: UTF8.self) }
}

extension Ledger {
  /// Adds jobs in their own transaction.
  package func add(_ jobs: JobRecord...) async throws -> [JobID] {
    try await withTransaction { try await add(jobs, in: $0) }
  }

  /// Completes jobs in their own transaction.
  package func completeAlone(_ ids: [JobID], queue: QueueName = .default) async throws -> [JobID] {
    try await withTransaction { try await complete(ids, queue: queue, in: $0).ended }
  }

  package func allPendingIDs(_ queue: QueueName = .default) async throws -> [JobID] {
    try await pendingIDs(queue: queue, after: nil, before: JobID(high: .max, low: 0), limit: 100_000)
  }
}
