/// How many connections a worker has to the server that keeps its ledger.
public struct WorkerConnections: Codable, Sendable, Hashable {
  /// The pool that its jobs and its own statements share.
  public let pool: Int
  /// How many it opens at most: the pool's, and those that it keeps beside it.
  public let total: Int
  /// How many of the pool's its jobs use when as many run as may at once.
  public let jobs: Int

  private enum CodingKeys: String, CodingKey {
    case pool
    // Workers of the version before write and read it under this name.
    case total = "most"
    case jobs
  }

  /// - Parameters:
  ///   - pool: how many its jobs and its own statements share.
  ///   - kept: how many it keeps beside them.
  ///   - jobs: how many its jobs use at once.
  public init(pool: Int, kept: Int, jobs: Int) {
    self.pool = pool
    self.jobs = jobs
    total = pool + kept
  }

  /// How many of the pool's a worker takes beside its jobs: to settle those that have ended, and to find those that are
  /// pending.
  public static let ownShare = 2

  /// The pool in which no job waits for a connection: what the jobs use, and the worker's own share.
  public static func pool(for jobs: Int) -> Int { jobs + ownShare }

  /// Whether no job waits for a connection.
  public var fits: Bool { pool >= Self.pool(for: jobs) }
}
