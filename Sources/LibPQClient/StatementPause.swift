/// Splits transactions into their statements and runs a statement of the test's own before each, COMMIT included, so
/// that the test decides what other transactions do in between.
///
/// A task local: it reaches the transactions of the code under test, and no others.
@_spi(Testing) public struct StatementPause: Sendable {
  /// What runs before each statement, on the same connection and in the same transaction.
  public let query: PostgresQuery
  /// Whether there is a pause before the statement with this text.
  public let precedes: @Sendable (String) -> Bool

  public init(query: PostgresQuery, before precedes: @escaping @Sendable (String) -> Bool = { _ in true }) {
    self.query = query
    self.precedes = precedes
  }

  @TaskLocal public static var current: StatementPause?
}

extension PostgresTransaction {
  /// Sends statements in one round trip, or one at a time where a test pauses before each.
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
