import Locking
import Logging
import ServiceLifecycle

/// Pushes durable jobs for callers that do not wait for the broker, such as requests: one push for all that have come
/// while the last was under way.
///
/// The jobs are in the ledger. The relay pushes those that the broker did not take, those that came while `capacity`
/// waited, and those that are left when the process ends.
public final class JobPusher<B: Broker>: Service {
  /// How many jobs wait at most.
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

  /// - Parameter pause: between two attempts while the broker takes nothing.
  public init(broker: B, pause: Duration = .seconds(1), logger: Logger) {
    self.broker = broker
    self.pause = pause
    self.logger = logger
  }

  /// Takes jobs that the ledger has. Does not wait.
  func offer(_ records: [JobRecord]) {
    let waiter = state.withLock { state in
      state.records += records.prefix(max(0, Self.capacity - state.records.count))
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Pushes until a graceful shutdown is asked for, and then what waits still, unless the broker fails.
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
        // A process that ends does not wait for a broker that is away.
        if state.withLock({ $0.hasEnded }) { return }
        do { try await Task.sleep(for: pause) } catch { return }
      }
    }
  }

  /// What has come since the last call; nil once all is pushed and no more is to be.
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
