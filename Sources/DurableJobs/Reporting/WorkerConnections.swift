/// A worker's connections to its ledger's server.
public struct WorkerConnections: Codable, Sendable, Hashable {
  /// The size of the pool that its jobs and its own statements share.
  public let pool: Int
  /// The most connections that it opens: the pool's, and those that it holds beside it.
  public let total: Int
  /// The pool connections that its jobs use at full concurrency.
  public let jobs: Int

  private enum CodingKeys: String, CodingKey {
    case pool
    // The previous version's workers use this name.
    case total = "most"
    case jobs
  }

  /// - Parameters:
  ///   - pool: the connections that its jobs and its own statements share.
  ///   - kept: the connections that it holds beside the pool.
  ///   - jobs: the connections that its jobs use at once.
  public init(pool: Int, kept: Int, jobs: Int) {
    self.pool = pool
    self.jobs = jobs
    total = pool + kept
  }

  /// The pool connections that a worker uses for itself: to settle jobs, and to find pending ones.
  public static let ownShare = 2

  /// The smallest pool in which no job waits for a connection: those of the jobs, plus the worker's own share.
  public static func pool(for jobs: Int) -> Int { jobs + ownShare }

  /// Whether the pool is large enough that no job waits for a connection.
  public var fits: Bool { pool >= Self.pool(for: jobs) }
}
