/// What a connection knows of a transaction on it. Confined to the connection's loop.
final class TransactionState: @unchecked Sendable {
  // `@unchecked Sendable`: its fields are read and written by the connection's actor only.
  let begin: PostgresQuery
  var hasBegun = false
  /// COMMIT or ROLLBACK comes next: no further statement is taken.
  var isEnding = false
  /// The server has no transaction open any more.
  var hasEnded = false

  init(begin: PostgresQuery) { self.begin = begin }
}
