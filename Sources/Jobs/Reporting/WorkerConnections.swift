/// How many connections a worker has to the server that keeps its ledger.
public struct WorkerConnections: Codable, Sendable, Hashable {
  /// The pool that its jobs and its own statements share.
  public let pool: Int
  /// How many it opens at most: the pool's, and those that it keeps beside it.
  public let most: Int

  /// - Parameters:
  ///   - pool: how many its jobs and its own statements share.
  ///   - kept: how many it keeps beside them.
  public init(pool: Int, kept: Int) {
    self.pool = pool
    most = pool + kept
  }

  /// How many of the pool's a worker takes beside its jobs: to settle those that have ended, and to find those that are
  /// owed.
  public static let ownShare = 2

  /// The pool in which no job waits for a connection: one for each slot, and the worker's own share.
  public static func pool(for slots: Int) -> Int { slots + ownShare }

  /// Whether so many slots find a connection each.
  public func fits(_ slots: Int) -> Bool { pool >= Self.pool(for: slots) }
}
