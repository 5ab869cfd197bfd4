import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// One transaction of the app: its SQL, and the jobs that are pending once it commits.
public typealias AppTransaction = JobTransaction<PostgresLedger>

/// What can run a statement that only reads: a pool, or a transaction where the answer must fit what else it does.
public protocol SocialReader: Sendable {
  /// Runs a statement that reads.
  func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows
  /// Whether what it reads may be a second old.
  var mayBeBehind: Bool { get }
}

extension SocialReader {
  public var mayBeBehind: Bool { false }
}

extension PostgresTransaction: SocialReader {
  public func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows { try await self.query(query) }
}

extension PostgresPool: SocialReader {
  public func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows { try await self.query(query) }
}

extension PostgresReads: SocialReader {
  public var mayBeBehind: Bool { usesReplica }
  public func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows { try await self.query(query) }
}
