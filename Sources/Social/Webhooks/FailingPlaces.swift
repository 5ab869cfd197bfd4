import Locking

/// The places of a worker in which deliveries to failing receivers may wait: half of those of the queue `webhooks`.
/// However many receivers fail, the other half stays free for those that answer. A worker with a single place has no
/// other half.
final class FailingPlaces: Sendable {
  private let free: Locked<Int>

  /// - Parameter concurrency: how many deliveries the worker makes at once.
  init(of concurrency: Int) { free = Locked(max(1, concurrency / 2)) }

  /// - Returns: whether a place was free and is taken now.
  func take() -> Bool {
    free.withLock { free in
      if free == 0 { return false }
      free -= 1
      return true
    }
  }

  func giveBack() { free.withLock { $0 += 1 } }
}
