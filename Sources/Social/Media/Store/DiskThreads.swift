import Dispatch
import Locking

/// Threads for calls that wait for a disk, which neither an event loop nor the tasks' shared threads can spare.
struct DiskThreads: Sendable {
  // Serial queues: unlike a concurrent one they get a thread even where others have taken all that Dispatch shares.
  private let queues = (0..<4).map { DispatchQueue(label: "fanmill.media.\($0)") }
  private let turns = Turns()

  /// Does `work` on one of the threads. Once begun it is done to its end, whoever is cancelled.
  func run<Value: Sendable>(
    _ work: @escaping @Sendable () throws(MediaStoreError) -> Value
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
