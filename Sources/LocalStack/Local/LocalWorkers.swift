import DurableJobsAdmin
import Foundation
import Locking
import PrivateServers

/// The workers of a local stack: keeps the wanted number running, restarts workers that exit unexpectedly, and stops
/// surplus ones gracefully.
final class LocalWorkers: Sendable {
  private struct Slot {
    /// Whether the slot is removed when its process exits.
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

  /// - Parameter settings: the settings of the servers, by variable.
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

  /// Sets the wanted number of workers.
  func want(_ count: Int) { order.yield(.count(count)) }

  /// Keeps the wanted number of workers running until the task is cancelled; then stops them all.
  ///
  /// - Parameter whenReady: called each time a worker becomes ready.
  /// - Throws: the error that keeps a worker from starting.
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
                // A child's error would cancel the other children, but not the wait for orders.
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

  /// The lowest free numbers for the workers to add, so that there are `count`.
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

  /// Stops the workers with the highest numbers, so that `count` remain.
  private func dismiss(beyond count: Int) {
    let ending = slots.withLock { slots -> [ServerProcess] in
      let staying = slots.filter { !$0.value.isDismissed }.keys.sorted()
      let dismissed = staying.dropFirst(count)
      for number in dismissed { slots[number]?.isDismissed = true }
      return dismissed.compactMap { slots[$0]?.running }
    }
    for process in ending { process.stop(within: patience) }
  }

  /// Restarts a worker whenever it exits, until it is dismissed or the task is cancelled.
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

  /// Changes the state, and publishes it in the folder.
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

/// A ready worker of a local stack.
public struct LocalWorker: Sendable, Equatable, Codable {
  /// For example, `worker-2`; also names its log.
  public let name: String
  public let pid: Int32
  /// The port of its health and metrics, on 127.0.0.1.
  public let port: Int
}

/// The pause before a process is restarted, growing when it exits repeatedly.
struct RestartPause {
  private var pause = Duration.milliseconds(250)
  private var started = ContinuousClock.now

  mutating func wait() async throws {
    pause = .now - started > .seconds(10) ? .milliseconds(250) : min(pause * 2, .seconds(10))
    try await Task.sleep(for: pause)
    started = .now
  }
}
