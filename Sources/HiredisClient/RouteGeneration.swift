import Locking

/// Counts the moments from which commands may reach another server: each connection made and, in a cluster, each slot
/// found elsewhere.
final class RouteGeneration: Sendable {
  private let count = Locked(0)

  var value: Int { count.withLock { $0 } }

  /// Must be called before the first command takes the new route.
  func advance() { count.withLock { $0 += 1 } }
}
