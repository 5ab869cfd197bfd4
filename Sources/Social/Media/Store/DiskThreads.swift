import Dispatch
import Locking

/// Threads for calls that block on a disk, which must not run on an event loop or the shared task threads.
public struct DiskThreads: Sendable {
  private let queues: [DispatchQueue]
  private let turns = Turns()

  public init(count: Int) {
    precondition(count > 0, "work needs a thread")
    // Serial queues get a thread even when other work has taken all of Dispatch's shared ones; a concurrent queue does
    // not.
    queues = (0..<count).map { DispatchQueue(label: "fanmill.media.\($0)") }
  }

  /// Runs `work` on one of the threads. Once started, it runs to its end, even if the task is cancelled.
  public func run<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      queues[turns.next() % queues.count].async { continuation.resume(with: Result { try work() }) }
    }
  }

  private final class Turns: Sendable {
    private let count = Locked(0)

    func next() -> Int {
      count.withLock { count in
        count &+= 1
        return count & .max
      }
    }
  }
}
