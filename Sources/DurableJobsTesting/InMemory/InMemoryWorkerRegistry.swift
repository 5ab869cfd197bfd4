import DurableJobs
import Locking

/// An in-process worker registry, for tests.
public final class InMemoryWorkerRegistry: WorkerRegistry {
  private struct State {
    var reports: [String: WorkerReport] = [:]
    var beats: [String: Int] = [:]
    var commands: [String: WorkerCommands] = [:]
    var paused: Set<QueueName> = []
    var cancelled: Set<JobID> = []
    var counts: [JobKind: JobCounts] = [:]
    /// The last batch added for each worker.
    var batches: [String: Int64] = [:]
  }

  private let state = Locked(State())

  public init() {}

  public func heartbeat(_ report: WorkerReport) -> WorkerCommands {
    state.withLock { state in
      state.reports[report.name] = report
      state.beats[report.name, default: 0] += 1
      Self.add(report, &state)
      var commands = state.commands[report.name] ?? WorkerCommands()
      commands.pausedQueues = state.paused
      commands.cancelled = state.cancelled
      return commands
    }
  }

  public func leave(_ report: WorkerReport) {
    state.withLock { state in
      state.reports[report.name] = nil
      Self.add(report, &state)
    }
  }

  // MARK: Inspection

  /// The registered workers, by name.
  public var reports: [String: WorkerReport] { state.withLock { $0.reports } }
  /// The number of reports by a worker.
  public func beats(of worker: String) -> Int { state.withLock { $0.beats[worker] ?? 0 } }
  /// The counts of each kind.
  public var counts: [JobKind: JobCounts] { state.withLock { $0.counts } }

  // MARK: Commands

  /// Changes the commands for a worker, which receives them with its next report.
  public func order(_ worker: String, _ change: @Sendable (inout WorkerCommands) -> Void) {
    state.withLock { change(&$0.commands[worker, default: WorkerCommands()]) }
  }

  /// Stops all workers from claiming from a queue.
  public func pause(_ queue: QueueName) { state.withLock { _ = $0.paused.insert(queue) } }
  /// Lets workers claim from the queue again.
  public func resume(_ queue: QueueName) { state.withLock { _ = $0.paused.remove(queue) } }
  /// Orders the worker that runs a job to cancel it.
  public func cancel(_ job: JobID) { state.withLock { _ = $0.cancelled.insert(job) } }

  private static func add(_ report: WorkerReport, _ state: inout State) {
    if report.minutes.isEmpty || report.batch <= state.batches[report.name, default: 0] { return }
    state.batches[report.name] = report.batch
    for minute in report.minutes { state.counts[minute.kind, default: JobCounts()] += minute.counts }
  }
}
