/// Splits transactions into single statements and runs a statement of the test before each, including COMMIT, so that
/// the test controls what other transactions do in between.
///
/// A task local, so it affects only the transactions of the code under test.
@_spi(Testing) public struct StatementPause: Sendable {
  /// The statement to run before each one, on the same connection and in the same transaction.
  public let query: PostgresQuery
  /// Whether to pause before the statement with this text.
  public let precedes: @Sendable (String) -> Bool

  public init(query: PostgresQuery, before precedes: @escaping @Sendable (String) -> Bool = { _ in true }) {
    self.query = query
    self.precedes = precedes
  }

  @TaskLocal public static var current: StatementPause?
}

extension PostgresTransaction {
  /// Sends statements in one round trip, or one at a time if a test pauses before each.
  func submit(_ queries: [PostgresQuery], timeout: Duration?) async throws(PostgresError) -> [PostgresRows] {
    guard let pause = StatementPause.current else {
      return try await connection.submit(queries, timeout: timeout, transaction: state)
    }
    var answers: [PostgresRows] = []
    for query in queries {
      if pause.precedes(query.sql) {
        _ = try await connection.submit([pause.query], timeout: nil, transaction: state)
      }
      answers += try await connection.submit([query], timeout: timeout, transaction: state)
    }
    return answers
  }
}
