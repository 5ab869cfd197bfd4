/// A connection's state of a transaction. Confined to the connection's loop.
final class TransactionState: @unchecked Sendable {
  // `@unchecked Sendable`: only the connection's actor accesses its fields.
  let begin: PostgresQuery
  var hasBegun = false
  /// Whether COMMIT or ROLLBACK comes next: no further statement is accepted.
  var isEnding = false
  /// Whether the server has ended the transaction.
  var hasEnded = false

  init(begin: PostgresQuery) { self.begin = begin }
}
