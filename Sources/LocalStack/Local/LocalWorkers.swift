import DurableJobsAdmin
import Foundation
import Locking
import PrivateServers

/// The workers of a local stack: as many as are wanted, started again where they end unasked, and ended in order where
/// there are too many.
final class LocalWorkers: Sendable {
  private struct Slot {
    /// Ends for good when its process does.
    var isDismissed = false
    var running: ServerProcess?
    var ready: LocalWorker?
  }

  private enum Order {
    case count(Int)
    case failed(any Error)
  }

  private let folder: LocalStackFolder
  private let settings: [String: String]
  private let patience: Duration
  private let orders: AsyncStream<Order>
  private let order: AsyncStream<Order>.Continuation
  private let slots = Locked<[Int: Slot]>([:])
  private let event: @Sendable (LocalStack.Event) -> Void

  /// - Parameter settings: the settings that name the servers, by variable.
  init(
    folder: LocalStackFolder, settings: [String: String], patience: Duration,
    event: @escaping @Sendable (LocalStack.Event) -> Void
  ) {
    self.folder = folder
    self.settings = settings
    self.patience = patience
    self.event = event
    (orders, order) = AsyncStream.makeStream()
  }

  /// Says how many there should be from now on.
  func want(_ count: Int) { order.yield(.count(count)) }

  /// Keeps as many running as are wanted, until the task is cancelled; then ends them all.
  ///
  /// - Parameter whenReady: called each time that one can work.
  /// - Throws: what keeps one from starting.
  func run(whenReady: @escaping @Sendable () -> Void) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      for await next in orders {
        switch next {
        case .count(let count):
          for number in added(for: count) {
            group.addTask {
              do {
                try await self.keepRunning(number, whenReady: whenReady)
              } catch {
                // A child's error would end the others, and not the wait for orders.
                self.order.yield(.failed(error))
              }
            }
          }
          dismiss(beyond: count)
        case .failed(let error): throw error
        }
      }
      try Task.checkCancellation()
    }
  }

  /// The numbers of the workers to start so that there are `count`, the lowest that are free.
  private func added(for count: Int) -> [Int] {
    slots.withLock { slots in
      var missing = count - slots.values.count { !$0.isDismissed }
      var numbers: [Int] = []
      var number = 1
      while missing > 0 {
        if slots[number] == nil {
          slots[number] = Slot()
          numbers.append(number)
          missing -= 1
        }
        number += 1
      }
      return numbers
    }
  }

  /// Ends those with the highest numbers, so that `count` are left.
  private func dismiss(beyond count: Int) {
    let ending = slots.withLock { slots -> [ServerProcess] in
      let staying = slots.filter { !$0.value.isDismissed }.keys.sorted()
      let dismissed = staying.dropFirst(count)
      for number in dismissed { slots[number]?.isDismissed = true }
      return dismissed.compactMap { slots[$0]?.running }
    }
    for process in ending { process.stop(within: patience) }
  }

  /// Runs one again and again, until it is dismissed or the task is cancelled.
  private func keepRunning(_ number: Int, whenReady: @escaping @Sendable () -> Void) async throws {
    defer { note { $0[number] = nil } }
    var pause = RestartPause()
    while true {
      let worker = try LocalProcess.worker(number, servers: settings, folder: folder.path)
      let running = try await worker.start()
      let isDismissed = slots.withLock { slots in
        slots[number]?.running = running
        return slots[number]?.isDismissed ?? true
      }
      if isDismissed { running.stop(within: patience) }
      let status: Int32
      do {
        status = try await worker.serve(running, patience: patience) {
          self.note { $0[number]?.ready = LocalWorker(name: worker.name, pid: running.pid, port: worker.port) }
          whenReady()
        }
      } catch {
        if slots.withLock({ $0[number]?.isDismissed ?? true }) { return }
        throw error
      }
      note { $0[number]?.ready = nil }
      if slots.withLock({ $0[number]?.isDismissed ?? true }) { return }
      event(.restarted(process: worker.name, status: status))
      try await pause.wait()
    }
  }

  /// Changes what is known, and tells it in the folder.
  private func note(_ change: (inout [Int: Slot]) -> Void) {
    let failure = slots.withLock { slots -> OperationError? in
      change(&slots)
      // Under the lock, so that an older list never replaces a newer one.
      do throws(OperationError) {
        try folder.write(slots.sorted { $0.key < $1.key }.compactMap(\.value.ready))
        return nil
      } catch {
        return error
      }
    }
    if let failure { event(.step(failure.message)) }
  }
}

/// A worker of a local stack that can work.
public struct LocalWorker: Sendable, Equatable, Codable {
  /// Such as `worker-2`; its log has that name.
  public let name: String
  public let pid: Int32
  /// Of its health and metrics, on 127.0.0.1.
  public let port: Int
}

/// How long a process that ended waits for its next start: one that ends again and again is tried less and less often.
struct RestartPause {
  private var pause = Duration.milliseconds(250)
  private var started = ContinuousClock.now

  mutating func wait() async throws {
    pause = .now - started > .seconds(10) ? .milliseconds(250) : min(pause * 2, .seconds(10))
    try await Task.sleep(for: pause)
    started = .now
  }
}
