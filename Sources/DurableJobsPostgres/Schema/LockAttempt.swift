/// How long an attempt to change tables waits for their users. Statements that arrive meanwhile queue behind it, so the
/// first attempts are short. The last ones exceed Postgres' `deadlock_timeout` of a second, after which a vacuum
/// yields.
struct LockAttempt: Sendable, Equatable {
  /// How long the first lock may take.
  private(set) var limit: Duration = .milliseconds(100)
  /// The table to lock first, because the last attempt found it held. With no other lock held, waiting for it cannot
  /// deadlock.
  private(set) var first: String?

  /// How long each lock after the first may take.
  static let later: Duration = .milliseconds(20)

  var setting: String { Self.setting(limit) }

  static func setting(_ limit: Duration) -> String { "\(Int(limit / .milliseconds(1)))ms" }

  func next(after held: TableHeld) -> LockAttempt {
    LockAttempt(limit: min(limit * 2, .seconds(2)), first: held.table ?? first)
  }
}

/// Another session holds a table.
struct TableHeld: Error {
  /// nil if the table is unknown.
  let table: String?
}
