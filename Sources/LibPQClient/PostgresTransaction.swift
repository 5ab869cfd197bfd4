import Reactor

/// A transaction's isolation level and access mode.
public struct PostgresTransactionMode: Hashable, Sendable {
  let begin: String
  /// Each statement sees the data committed when it began.
  public static let readCommitted = PostgresTransactionMode(begin: "BEGIN")
  /// All statements see the data committed when the first one began; writing a row that has changed since fails with
  /// SQLSTATE 40001.
  public static let repeatableRead = PostgresTransactionMode(begin: "BEGIN ISOLATION LEVEL REPEATABLE READ")
  /// A read-only snapshot of the database.
  public static let snapshot = PostgresTransactionMode(begin: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  /// As if transactions ran one after another; any statement may fail with SQLSTATE 40001.
  public static let serializable = PostgresTransactionMode(begin: "BEGIN ISOLATION LEVEL SERIALIZABLE")
}

/// A connection's open transaction, lent to a closure. BEGIN is sent with its first statement; without statements,
/// nothing is sent.
public struct PostgresTransaction: Sendable {
  let connection: PostgresConnection
  let state: TransactionState

  /// Runs a statement and returns its rows. After a failed statement, all later ones fail (SQLSTATE 25P02).
  ///
  /// - Throws: `.transactionEnded` outside of its closure; else as a connection does.
  public func query(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> PostgresRows {
    try await submit([query], timeout: timeout).only
  }

  /// Runs a statement and returns the number of rows affected.
  @discardableResult
  public func execute(_ query: PostgresQuery, timeout: Duration? = nil) async throws(PostgresError) -> Int {
    try await submit([query], timeout: timeout).only.affected
  }

  /// Runs statements in one round trip, and returns the rows of each.
  @discardableResult
  public func pipeline(
    _ queries: [PostgresQuery], timeout: Duration? = nil
  ) async throws(PostgresError) -> [PostgresRows] {
    queries.isEmpty ? [] : try await submit(queries, timeout: timeout)
  }
}

extension PostgresConnection {
  /// Runs `body` in a transaction: COMMIT when it returns; ROLLBACK when it throws, and then rethrows its error.
  ///
  /// Once `body` has returned, the COMMIT is sent even if the task is cancelled meanwhile.
  ///
  /// - Throws: any error that `body` throws; `.server` if the server refuses the COMMIT, and then nothing took effect;
  ///   `.outcomeUnknown` if the connection is lost during it.
  public nonisolated(nonsending) func transaction<Value: Sendable>(
    _ mode: PostgresTransactionMode = .readCommitted,
    _ body: (PostgresTransaction) async throws -> Value
  ) async throws -> Value {
    let state = TransactionState(begin: PostgresQuery(unescaped: mode.begin))
    let value: Value
    do {
      value = try await body(PostgresTransaction(connection: self, state: state))
    } catch {
      await rollBack(state)
      throw error
    }
    try await commit(state)
    return value
  }

  private nonisolated(nonsending) func commit(_ state: TransactionState) async throws(PostgresError) {
    if let pause = StatementPause.current, pause.precedes("COMMIT") { try await self.pause(pause, in: state) }
    let rows = try await submit(["COMMIT"], timeout: nil, transaction: state, role: .commit)
    if rows.first?.result.tag == "ROLLBACK" {
      throw PostgresError(
        .server, "the transaction was rolled back because one of its statements failed", sqlState: "25P02")
    }
  }

  private func pause(_ pause: StatementPause, in state: TransactionState) async throws(PostgresError) {
    guard state.hasBegun, !state.hasEnded else { return }
    _ = try await submit([pause.query], timeout: nil, transaction: state)
  }

  private nonisolated(nonsending) func rollBack(_ state: TransactionState) async {
    do {
      _ = try await submit(["ROLLBACK"], timeout: configuration.cancelTimeout, transaction: state, role: .rollback)
    } catch {
      await close()
    }
  }
}
