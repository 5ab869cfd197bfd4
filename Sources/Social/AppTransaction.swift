import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// A transaction of the app: its SQL, and the jobs that become pending when it commits.
public typealias AppTransaction = JobTransaction<PostgresLedger>

/// Runs read-only statements: a pool, or a transaction whose reads must match its writes.
public protocol SocialReader: Sendable {
  /// Runs a read-only statement.
  func rows(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows
  /// Whether its reads may be up to a second old.
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

extension PostgresQuery {
  /// One parameter for each of at least one value, separated by commas.
  static func list(_ values: [some PostgresEncodable]) -> PostgresQuery {
    values.dropFirst().reduce("\(values[0])") { "\($0), \($1)" }
  }
}
