/// How long an attempt at changing tables waits for their users. Statements that come meanwhile wait behind it, so
/// attempts begin short. They end above Postgres' `deadlock_timeout` of a second, after which a vacuum makes way.
struct LockAttempt: Sendable, Equatable {
  /// How long the first lock may take.
  private(set) var limit: Duration = .milliseconds(100)
  /// The table to lock first, since the last attempt found it held: with no other lock in hand, waiting for it is no
  /// deadlock.
  private(set) var first: String?

  /// How long a lock may take after the first.
  static let later: Duration = .milliseconds(20)

  var setting: String { Self.setting(limit) }

  static func setting(_ limit: Duration) -> String { "\(Int(limit / .milliseconds(1)))ms" }

  func next(after held: TableHeld) -> LockAttempt {
    LockAttempt(limit: min(limit * 2, .seconds(2)), first: held.table ?? first)
  }
}

/// Another session holds a table.
struct TableHeld: Error {
  /// nil where it is not known which.
  let table: String?
}
