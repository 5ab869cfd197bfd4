import Locking
import Logging
import ServiceLifecycle

/// Pushes durable jobs for callers that do not wait for the broker, such as requests. Jobs that arrive during a push go
/// together in the next one.
///
/// The jobs are in the ledger. The relay pushes those that the broker did not take, those that arrived while `capacity`
/// jobs were waiting, and those left when the process ends.
public final class JobPusher<B: Broker>: Service {
  /// The maximum number of waiting jobs.
  public static var capacity: Int { 1000 }

  private struct State {
    var records: [JobRecord] = []
    var waiter: CheckedContinuation<Void, Never>?
    var hasEnded = false
  }

  private let broker: B
  private let pause: Duration
  private let logger: Logger
  private let state = Locked(State())

  /// - Parameter pause: between attempts while the broker takes nothing.
  public init(broker: B, pause: Duration = .seconds(1), logger: Logger) {
    self.broker = broker
    self.pause = pause
    self.logger = logger
  }

  /// Takes jobs that are in the ledger. Does not wait.
  func offer(_ records: [JobRecord]) {
    let waiter = state.withLock { state in
      state.records += records.prefix(max(0, Self.capacity - state.records.count))
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Pushes until a graceful shutdown is requested, then pushes the remaining jobs unless the broker fails.
  public func run() async {
    await withTaskCancellationHandler {
      await withGracefulShutdownHandler {
        await pushAll()
      } onGracefulShutdown: {
        self.end()
      }
    } onCancel: {
      end()
    }
  }

  private func pushAll() async {
    var isAway = false
    while let records = await next() {
      do {
        try await broker.push(records)
        if isAway { logger.info("the broker answers again") }
        isAway = false
      } catch {
        if !isAway {
          logger.warning(
            "jobs are pending but not pushed; the relay will push them",
            metadata: [LogKeys.count: "\(records.count)", LogKeys.error: "\(error)"])
        }
        isAway = true
        // A process that is shutting down does not wait for an unavailable broker.
        if state.withLock({ $0.hasEnded }) { return }
        do { try await Task.sleep(for: pause) } catch { return }
      }
    }
  }

  /// The jobs added since the last call; nil once shut down with nothing left to push.
  private func next() async -> [JobRecord]? {
    await withCheckedContinuation { waiter in
      let mayGoOn = state.withLock { state in
        if state.hasEnded || !state.records.isEmpty { return true }
        state.waiter = waiter
        return false
      }
      if mayGoOn { waiter.resume() }
    }
    return state.withLock { state in
      let records = state.records
      state.records = []
      return records.isEmpty ? nil : records
    }
  }

  private func end() {
    let waiter = state.withLock { state in
      state.hasEnded = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}
