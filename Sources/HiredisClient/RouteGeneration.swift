import Locking

/// Counts the moments from which on commands may reach another server than before: each connection that is made and, in
/// a cluster, each slot that is found elsewhere.
final class RouteGeneration: Sendable {
  private let count = Locked(0)

  var value: Int { count.withLock { $0 } }

  /// To be called before the first command goes the new way.
  func advance() { count.withLock { $0 += 1 } }
}
