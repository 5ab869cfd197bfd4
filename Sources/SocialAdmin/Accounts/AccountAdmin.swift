import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Social

/// Operators' actions on accounts.
public struct AccountAdmin: Sendable {
  private let database: JobsDatabase

  public init(_ database: JobsDatabase) { self.database = database }

  /// - Parameters:
  ///   - prefix: the beginning of usernames or email addresses, in any case; nil for all.
  ///   - isSuspended: nil for both states.
  ///   - before: the `next` of an earlier page.
  ///   - limit: 1 to 100,000.
  public func list(
    beginningWith prefix: String? = nil, isSuspended: Bool? = nil, before: String? = nil, limit: Int = 50
  ) async throws -> AccountPage {
    try OperationError.check(limit: limit)
    let last: Int?
    if let before {
      guard let id = EntityID.parse(before) else {
        throw OperationError(.usage, "--before is '\(before)': use the 'next' of an earlier page")
      }
      last = id
    } else {
      last = nil
    }
    let pattern = prefix.map { prefix in
      NormalForm.compared(prefix).replacing("\\", with: "\\\\").replacing("%", with: "\\%")
        .replacing("_", with: "\\_") + "%"
    }
    let rows = try await database.pool.query(
      """
      SELECT \(unescaped: Self.columns) FROM accounts a
      WHERE (\(last)::bigint IS NULL OR a.id < \(last))
        AND (\(pattern)::text IS NULL OR lower(a.username) COLLATE "C" LIKE \(pattern)
          OR lower(a.email COLLATE "C") LIKE \(pattern))
        AND (\(isSuspended)::boolean IS NULL OR (a.suspended_at IS NOT NULL) = \(isSuspended))
      ORDER BY a.id DESC LIMIT \(limit + 1)
      """)
    let found = try rows.map(Self.record)
    let items = Array(found.prefix(limit))
    return AccountPage(items: items, next: found.count > limit ? items.last.map { String($0.id) } : nil)
  }

  /// - Throws: `.notFound`, `AccountMoved`.
  public func show(_ name: String) async throws -> AccountRecord {
    let id = try await id(of: name, in: database.pool)
    let rows = try await database.pool.query(
      "SELECT \(unescaped: Self.columns) FROM accounts a WHERE a.id = \(id)")
    guard let row = rows.first else { throw Self.missing(name) }
    return try Self.record(row)
  }

  /// Locks the owner out of an account, and hides the account and its content.
  ///
  /// - Parameter reason: shown on the account's page, to its owner and in the action log.
  /// - Throws: `.notFound`, `.forbidden`, `invalid_reason`.
  public func suspend(
    _ name: String, because reason: String, by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws -> AccountRecord {
    try await act("accounts.suspend", on: name, because: reason, by: actor, through: jobs) {
      try await Suspensions.suspend($0, because: reason, in: $1)
    }
    return try await show(name)
  }

  /// Reopens a suspended account and shows its content again.
  ///
  /// - Parameter reason: shown to the owner and in the action log.
  /// - Throws: `.notFound`, `.forbidden`, `invalid_reason`.
  public func restore(
    _ name: String, because reason: String, by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws -> AccountRecord {
    try await act("accounts.restore", on: name, because: reason, by: actor, through: jobs) {
      try await Suspensions.restore($0, because: reason, in: $1)
    }
    return try await show(name)
  }

  /// Deletes an account permanently.
  ///
  /// - Parameter reason: for the action log.
  /// - Throws: `.notFound`, `.forbidden`.
  public func delete(
    _ name: String, because reason: String, by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws {
    try await act("accounts.delete", on: name, because: reason, by: actor, through: jobs) {
      try await Deletions.delete($0, in: $1)
    }
  }

  /// Sets an account's email address without verifying it.
  ///
  /// - Throws: `.notFound`, `.forbidden`, `invalid_email`, `email_taken`.
  public func setEmail(_ email: String, of name: String, by actor: Operator) async throws -> AccountRecord {
    // The log omits the address because it outlives the account.
    try await database.pool.transaction { transaction in
      let id = try await id(of: name, in: transaction)
      try await ActionLog(database).record("accounts.set-email", name, by: actor, in: transaction)
      try await EmailChanges.set(email, of: id, in: transaction)
    }
    return try await show(name)
  }

  // MARK: Exports

  /// Enqueues an export of all that an account has, for its owner, who gets a link by mail.
  ///
  /// - Throws: `.notFound`, `.forbidden`; `no_email` for an account without an address.
  public func requestExport(
    of name: String, by actor: Operator, through jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws {
    try await jobs.transaction { transaction in
      let id = try await id(of: name, in: transaction.sql)
      try await ActionLog(database).record("accounts.export", name, by: actor, in: transaction.sql)
      try await AccountExports.request(id, in: transaction)
    }
  }

  /// Writes all that an account has into a zip file.
  ///
  /// - Parameter path: of a file that does not exist.
  /// - Returns: its size, in bytes.
  /// - Throws: `.notFound`, `.forbidden`; `ArchiveError` if the file cannot be written.
  public func export(_ name: String, to path: String, store: any MediaStore, by actor: Operator) async throws -> Int {
    let account = try await database.pool.transaction { transaction in
      let id = try await id(of: name, in: transaction)
      try await ActionLog(database).record(
        "accounts.export", name, detail: ["to": "file"], by: actor, in: transaction)
      return id
    }
    return try await AccountArchive(of: account, store: store).write(to: path, on: database.pool)
  }

  // MARK: Purchases

  /// Grants an account more places for celebs.
  ///
  /// - Parameters:
  ///   - places: 1 to 1,000.
  ///   - receipt: identifies the grant; repeating it grants nothing.
  /// - Throws: `.notFound`, `.forbidden`, `invalid_celebs`, `invalid_receipt`, `receipt_taken`.
  public func grant(
    _ places: Int, receipt: String, to name: String, by actor: Operator
  ) async throws -> PurchaseReport {
    try await apply(.purchase, receipt, places, to: name, by: actor, as: "accounts.grant")
  }

  /// Revokes a receipt's grant. Registered celebs stay; new ones are refused until the count is below the limit.
  ///
  /// - Throws: `.notFound`, `.forbidden`, `invalid_receipt`.
  public func refund(receipt: String, of name: String, by actor: Operator) async throws -> PurchaseReport {
    let known = try await purchases(of: name).items.first { $0.source == "operator" && $0.receipt == receipt }
    guard let known else {
      throw OperationError(.notFound, "no operator granted '\(name)' anything with the receipt '\(receipt)'")
    }
    return try await apply(.refund, receipt, known.celebs, to: name, by: actor, as: "accounts.refund")
  }

  /// An account's purchases and grants.
  ///
  /// - Throws: `.notFound`.
  public func purchases(of name: String) async throws -> PurchaseReport {
    let id = try await id(of: name, in: database.pool)
    return try await report(nil, of: id, in: database.pool)
  }

  private func apply(
    _ kind: PurchaseEvent.Kind, _ receipt: String, _ places: Int, to name: String, by actor: Operator,
    as action: String
  ) async throws -> PurchaseReport {
    let event = try PurchaseEvent(kind, of: receipt, from: .operator, places: places, at: JobClock.now)
    return try await database.pool.transaction { transaction in
      let id = try await id(of: name, in: transaction)
      let detail = ["receipt": receipt, "celebs": String(places)]
      try await ActionLog(database).record(action, name, detail: detail, by: actor, in: transaction)
      let outcome = try await Purchases.apply(event, to: id, in: transaction)
      return try await report(outcome, of: id, in: transaction)
    }
  }

  private func report(
    _ outcome: Purchases.Outcome?, of id: Int, in reader: some SocialReader
  ) async throws -> PurchaseReport {
    PurchaseReport(
      outcome: outcome?.rawValue, items: try await Purchases.list(of: id, in: reader).map(PurchaseRecord.init))
  }

  private func act(
    _ action: String, on name: String, because reason: String, by actor: Operator,
    through jobs: JobClient<RedisBroker, PostgresLedger>,
    _ body: @escaping @Sendable (Int, AppTransaction) async throws -> Void
  ) async throws {
    try await jobs.transaction { transaction in
      let id = try await id(of: name, in: transaction.sql)
      try await ActionLog(database).record(action, name, detail: ["reason": reason], by: actor, in: transaction.sql)
      try await body(id, transaction)
    }
  }

  private func id(of name: String, in reader: some SocialReader) async throws -> Int {
    do { return try await Accounts.id(of: name, in: reader) } catch let error as SocialError
      where error.code == .notFound
    {
      throw Self.missing(name)
    }
  }

  private static func missing(_ name: String) -> OperationError {
    OperationError(.notFound, "there is no account '\(name)'")
  }

  private static let columns = """
    a.id, a.username, a.name, a.email,
    CASE WHEN a.suspended_at IS NOT NULL THEN 'suspended' WHEN a.awaits_confirmation THEN 'unconfirmed'
      ELSE 'active' END,
    a.suspension_reason, a.password_hash IS NOT NULL,
    (SELECT count(*) FROM sessions s WHERE s.account_id = a.id AND s.expires_at > now()),
    coalesce((SELECT q.bytes FROM media_quotas q WHERE q.account_id = a.id), 0)::bigint,
    ARRAY(SELECT f.username FROM former_usernames f WHERE f.account_id = a.id AND f.kept_until > now()
      ORDER BY f.kept_until DESC),
    a.created_at
    """

  private static func record(_ row: PostgresRow) throws -> AccountRecord {
    AccountRecord(
      id: try Int(postgres: row[0]), username: try String(postgres: row[1]), name: try String(postgres: row[2]),
      email: try String?(postgres: row[3]), state: try String(postgres: row[4]),
      reason: try String?(postgres: row[5]), hasPassword: try Bool(postgres: row[6]),
      sessions: try Int(postgres: row[7]), pictures: try Int(postgres: row[8]),
      formerNames: try [String](postgres: row[9]), createdAt: try Date(postgres: row[10]))
  }
}
