import LibPQClient

/// A queue's tables: the pool that reaches them and the schema that holds them. The ledger, the registries and
/// operators' queries are all built on it; no other module writes SQL on these tables.
public struct JobsDatabase: Sendable {
  public let pool: PostgresPool
  public let schema: JobsSchema

  /// - Parameter pool: its `run()` must be running.
  public init(pool: PostgresPool, schema: JobsSchema = .standard) {
    self.pool = pool
    self.schema = schema
  }
}
