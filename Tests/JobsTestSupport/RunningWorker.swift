import Locking
import Logging
import ServiceLifecycle
import TestSupport

/// A worker that runs for the duration of a closure.
public struct RunningWorker: Sendable {
  private let group: ServiceGroup
  private let running: Task<Void, any Error>
  private let isStopped = Locked(false)

  /// Requests a graceful stop, as SIGTERM does; `run` returns when it is complete.
  public func stop() async {
    isStopped.withLock { $0 = true }
    await group.triggerGracefulShutdown()
  }

  /// Cancels the worker, as at the end of its grace; `run` returns when it has ended.
  public func cancel() { running.cancel() }

  /// Runs `worker` beside `body`. Unless `body` stopped it, it is cancelled when `body` returns.
  @discardableResult
  public static func run<Result: Sendable>(
    _ worker: some Service, _ body: @Sendable (RunningWorker) async throws -> Result
  ) async rethrows -> Result {
    let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [worker], logger: .quiet))
    let running = Task { try await group.run() }
    let handle = RunningWorker(group: group, running: running)
    do {
      let result = try await withTaskCancellationHandler {
        try await body(handle)
      } onCancel: {
        running.cancel()
      }
      if !handle.isStopped.withLock({ $0 }) { running.cancel() }
      _ = await running.result
      return result
    } catch {
      running.cancel()
      _ = await running.result
      throw error
    }
  }
}
