import Logging
import Reactor

/// A bounded number of connections to one server, each leased to one caller at a time, first come, first served.
///
/// `run()` opens connections on demand and must be running while the pool is used; cancelling its task closes the pool.
/// A lost connection is replaced when one is needed again. While the server is down, attempts follow each other with
/// growing pauses, and callers wait no longer than the wait limit.
public final class PostgresPool: Sendable {
  private let core: PoolCore
  public let configuration: PostgresConfiguration
  public let loop: EventLoop
  /// The maximum number of connections.
  public let size: Int

  /// - Parameters:
  ///   - size: the maximum number of connections.
  ///   - waitLimit: how long a caller waits for a connection before it gets `.poolExhausted` or, if the server is
  ///     unreachable, `.connection` with the reason.
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

  /// Opens connections on demand, until its task is cancelled.
  public func run() async { await core.run() }

  /// Runs a statement as a separate transaction, on any connection.
  public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> PostgresRows {
    try await core.run([query], timeout).only
  }

  /// Runs a statement as a separate transaction, and returns the number of rows affected.
  @discardableResult
  public func execute(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> Int {
    try await core.run([query], timeout).only.affected
  }

  /// Runs statements in one round trip and one transaction: either all of them take effect, or none.
  @discardableResult
  public func pipeline(
    _ queries: [PostgresQuery], timeout: Duration? = nil
  ) async throws(PostgresError) -> [PostgresRows] {
    queries.isEmpty ? [] : try await core.run(queries, timeout)
  }

  /// Runs `body` in a transaction; see `PostgresConnection.transaction`. Nothing is retried.
  public nonisolated(nonsending) func transaction<Value: Sendable>(
    _ mode: PostgresTransactionMode = .readCommitted,
    _ body: (PostgresTransaction) async throws -> Value
  ) async throws -> Value {
    try await withConnection { try await $0.transaction(mode, body) }
  }

  /// Leases a connection to `body`. A connection returned with an open transaction is closed.
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

  /// A connection outside the pool, for example for LISTEN. The caller closes it.
  ///
  /// - Parameter limit: how long connecting may take; nil for the configuration's `connectTimeout`.
  public func dedicatedConnection(within limit: Duration? = nil) async throws(PostgresError) -> PostgresConnection {
    try await core.connect(within: limit)
  }

  /// The number of idle and leased connections, and of waiting callers.
  public func usage() async -> (idle: Int, leased: Int, waiting: Int) { await core.usage }
}
