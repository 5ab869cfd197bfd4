import DurableJobs
import Locking

/// A worker registry within the process, for tests.
public final class InMemoryWorkerRegistry: WorkerRegistry {
  private struct State {
    var reports: [String: WorkerReport] = [:]
    var beats: [String: Int] = [:]
    var commands: [String: WorkerCommands] = [:]
    var paused: Set<QueueName> = []
    var cancelled: Set<JobID> = []
    var counts: [JobKind: JobCounts] = [:]
    /// The last batch of each worker that was added.
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

  // MARK: What a test sees

  /// The workers that are there, by name.
  public var reports: [String: WorkerReport] { state.withLock { $0.reports } }
  /// How often a worker has reported.
  public func beats(of worker: String) -> Int { state.withLock { $0.beats[worker] ?? 0 } }
  /// What was done of each kind.
  public var counts: [JobKind: JobCounts] { state.withLock { $0.counts } }

  // MARK: What a test asks of workers

  /// Changes what is asked of one worker; it hears of it with its next report.
  public func order(_ worker: String, _ change: @Sendable (inout WorkerCommands) -> Void) {
    state.withLock { change(&$0.commands[worker, default: WorkerCommands()]) }
  }

  /// Lets all workers claim no more from a queue.
  public func pause(_ queue: QueueName) { state.withLock { _ = $0.paused.insert(queue) } }
  /// Lets them claim from it again.
  public func resume(_ queue: QueueName) { state.withLock { _ = $0.paused.remove(queue) } }
  /// Lets the worker that runs a job end it.
  public func cancel(_ job: JobID) { state.withLock { _ = $0.cancelled.insert(job) } }

  private static func add(_ report: WorkerReport, _ state: inout State) {
    if report.minutes.isEmpty || report.batch <= state.batches[report.name, default: 0] { return }
    state.batches[report.name] = report.batch
    for minute in report.minutes { state.counts[minute.kind, default: JobCounts()] += minute.counts }
  }
}
