import Reactor

/// One caller's statements on their way through a connection. Confined to the connection's loop.
final class PostgresRequest {
  enum Cancellation {
    case none
    /// The server was asked to end it and has not confirmed yet that it signalled.
    case asking
    case asked
  }

  let id: UInt64
  let queries: [PostgresQuery]
  /// The transaction that it belongs to.
  let transaction: TransactionState?
  /// A COMMIT or a ROLLBACK is brought to its end even if its task is cancelled.
  let isCancellable: Bool

  var rows: [PostgresRows] = []
  var error: PostgresError?
  var cancellation = Cancellation.none
  var isAnswered = false
  /// A prepared statement had to be thrown out; nothing of it ran.
  var hadStalePlan = false
  var isSecondTry = false
  var timer: TimerID?
  /// The caller's, if it has one.
  var deadline: Deadline?
  private var continuation: CheckedContinuation<Result<[PostgresRows], PostgresError>, Never>?

  init(
    id: UInt64, queries: [PostgresQuery], transaction: TransactionState?, isCancellable: Bool,
    _ continuation: CheckedContinuation<Result<[PostgresRows], PostgresError>, Never>
  ) {
    self.id = id
    self.queries = queries
    self.transaction = transaction
    self.isCancellable = isCancellable
    self.continuation = continuation
  }

  /// Gives the caller its answer; a second one is dropped.
  func resume() {
    guard let continuation else { return }
    self.continuation = nil
    if let error {
      continuation.resume(returning: .failure(error))
    } else {
      continuation.resume(returning: .success(rows))
    }
  }

  func fail(_ error: PostgresError) {
    if self.error == nil { self.error = error }
    resume()
  }
}

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
