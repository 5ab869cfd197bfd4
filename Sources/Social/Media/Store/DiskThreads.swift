import Dispatch
import Locking

/// Threads for calls that wait for a disk, which neither an event loop nor the tasks' shared threads can spare.
public struct DiskThreads: Sendable {
  private let queues: [DispatchQueue]
  private let turns = Turns()

  public init(count: Int) {
    precondition(count > 0, "work needs a thread")
    // Serial queues: unlike a concurrent one they get a thread even where others have taken all that Dispatch shares.
    queues = (0..<count).map { DispatchQueue(label: "fanmill.media.\($0)") }
  }

  /// Does `work` on one of the threads. Once begun it is done to its end, whoever is cancelled.
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
