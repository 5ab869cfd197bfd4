import Logging
import Reactor

/// A bounded number of connections to one server, lent to one caller at a time, first come, first served.
///
/// `run()` opens connections as they are needed and must run for as long as the pool is used; when its task is
/// cancelled, the pool is closed. A connection that is lost is replaced when one is needed again; while the server is
/// away, attempts follow each other with growing pauses, and callers wait no longer than the wait limit.
public final class PostgresPool: Sendable {
  private let core: PoolCore
  public let configuration: PostgresConfiguration
  public let loop: EventLoop
  /// How many connections there are at most.
  public let size: Int

  /// - Parameters:
  ///   - size: how many connections there are at most.
  ///   - waitLimit: how long a caller waits for a connection before it gets `.poolExhausted`, or, where the server
  /// cannot be     reached, `.connection` with the reason.
  public init(
    configuration: PostgresConfiguration, size: Int = 8, waitLimit: Duration = .seconds(5), loop: EventLoop,
    logger: Logger
  ) {
    precondition(size > 0, "a pool needs a connection")
    self.configuration = configuration
    self.loop = loop
    self.size = size
    core = PoolCore(configuration: configuration, size: size, waitLimit: waitLimit, loop: loop, logger: logger)
  }

  /// Opens connections as they are needed, until its task is cancelled.
  public func run() async { await core.run() }

  /// Runs a statement, a transaction of its own, on any connection.
  public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> PostgresRows {
    try await core.run([query], timeout).only
  }

  /// Runs a statement, a transaction of its own, and returns how many rows it touched.
  @discardableResult
  public func execute(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> Int {
    try await core.run([query], timeout).only.affected
  }

  /// Runs statements in one round trip and one transaction: all of them take effect or none.
  @discardableResult
  public func pipeline(
    _ queries: [PostgresQuery], timeout: Duration? = nil
  ) async throws(PostgresError) -> [PostgresRows] {
    queries.isEmpty ? [] : try await core.run(queries, timeout)
  }

  /// Runs `body` in a transaction; see `PostgresConnection.transaction`. Nothing is tried again.
  public nonisolated(nonsending) func transaction<Value: Sendable>(
    _ mode: PostgresTransactionMode = .readCommitted,
    _ body: (PostgresTransaction) async throws -> Value
  ) async throws -> Value {
    try await withConnection { try await $0.transaction(mode, body) }
  }

  /// Lends a connection to `body`. A connection that comes back with a transaction open is closed.
  public nonisolated(nonsending) func withConnection<Value: Sendable>(
    _ body: (PostgresConnection) async throws -> Value
  ) async throws -> Value {
    let connection = try await core.lease()
    let value: Value
    do {
      value = try await body(connection)
    } catch {
      core.releaseSoon(connection)
      throw error
    }
    core.releaseSoon(connection)
    return value
  }

  /// A connection apart from the pool's, such as for LISTEN. The caller closes it.
  ///
  /// - Parameter limit: how long it may take to come about; nil for the configuration's `connectTimeout`.
  public func dedicatedConnection(within limit: Duration? = nil) async throws(PostgresError) -> PostgresConnection {
    try await core.connect(within: limit)
  }

  /// How many connections lie idle, are lent, and how many callers wait.
  public func usage() async -> (idle: Int, leased: Int, waiting: Int) { await core.usage }
}
