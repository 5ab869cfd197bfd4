import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Registers celebs for their fans.
public enum Celebs {
  /// How many celebs an account may register, unless a setting or its own `celeb_limit` overrides it.
  public static let usualLimit = 3

  /// The celebs that an account has registered, ordered by position.
  public static func list(of fan: Int, in reader: some SocialReader) async throws -> [FanCeleb] {
    try await reader.rows("\(FanCeleb.rows(of: fan)) ORDER BY f.place").map { try FanCeleb(row: $0) }
  }

  /// - Throws: `celeb_not_registered`.
  public static func celeb(
    _ account: CelebAccount, of fan: Int, in reader: some SocialReader
  ) async throws -> FanCeleb {
    let rows = try await reader.rows(
      """
      \(FanCeleb.rows(of: fan)) WHERE c.platform = \(account.platform.rawValue) AND c.account = \(account.name)
      """)
    guard let row = rows.first else { throw notRegistered }
    return try FanCeleb(row: row)
  }

  // MARK: Register

  /// Registers a celeb. A celeb that is registered already stays unchanged.
  ///
  /// - Parameters:
  ///   - limit: how many celebs an account may register, unless it has its own limit.
  ///   - now: the time of the registration; nil for the current time.
  /// - Throws: `celeb_limit`, `not_found` for a deleted account.
  public static func register(
    _ account: CelebAccount, by fan: Int, limit: Int = usualLimit, in transaction: AppTransaction,
    now: Date? = nil
  ) async throws -> FanCeleb {
    let row = try await transaction.sql.query(
      """
      SELECT outcome, celeb, to_microseconds(registered_at), allowed
      FROM register_celeb(\(fan), \(account.platform.rawValue), \(account.name), \(Int32(clamping: limit)), \(now))
      """)[0]
    let (outcome, celeb, since, allowed) = try row.decode(String.self, Int?.self, Int?.self, Int?.self)
    switch outcome {
    case "limit": throw overLimit(allowed ?? limit)
    case "no_account": throw SocialError.notFound("account")
    default: break
    }
    if outcome == "registered", let celeb, let since {
      try await transaction.enqueue(FanCount(celeb: celeb, fan: fan, since: since, change: 1, at: since))
    }
    return try await self.celeb(account, of: fan, in: transaction.sql)
  }

  // MARK: Remove

  /// Removes a celeb. Its hearts remain.
  ///
  /// - Returns: whether it was registered.
  @discardableResult
  public static func remove(
    _ account: CelebAccount, by fan: Int, in transaction: AppTransaction, now: Date? = nil
  ) async throws -> Bool {
    let row = try await transaction.sql.query(
      """
      SELECT celeb, to_microseconds(registered_at), to_microseconds(removed_at)
      FROM remove_celeb(\(fan), \(account.platform.rawValue), \(account.name), \(now))
      """)[0]
    guard case (let celeb?, let since?, let at?) = try row.decode(Int?.self, Int?.self, Int?.self) else { return false }
    try await transaction.enqueue(FanCount(celeb: celeb, fan: fan, since: since, change: -1, at: at))
    return true
  }

  /// Replaces a celeb with another in one step, so that the fan never has one more or one less. The new one starts
  /// without hearts.
  ///
  /// - Parameters:
  ///   - limit: how many celebs an account may register, unless it has its own limit. A fan who is over the limit may
  ///     still replace one.
  ///   - now: the time of the replacement; nil for the current time.
  /// - Throws: `celeb_not_registered`, `celeb_registered` if the fan already has the new one, `celeb_limit` if the
  ///   replaced celeb is unknown, and so does not count, and the new one would exceed the limit.
  public static func replace(
    _ former: CelebAccount, by account: CelebAccount, of fan: Int, limit: Int = usualLimit,
    in transaction: AppTransaction, now: Date? = nil
  ) async throws -> FanCeleb {
    if former == account { throw registered }
    let row = try await transaction.sql.query(
      """
      SELECT outcome, celeb, to_microseconds(registered_at), allowed, former, to_microseconds(former_since),
        to_microseconds(removed_at)
      FROM replace_celeb(\(fan), \(former.platform.rawValue), \(former.name), \(account.platform.rawValue),
        \(account.name), \(Int32(clamping: limit)), \(now))
      """)[0]
    let (outcome, celeb, since, allowed, old, oldSince, removedAt) = try row.decode(
      String.self, Int?.self, Int?.self, Int?.self, Int?.self, Int?.self, Int?.self)
    switch outcome {
    case "limit": throw overLimit(allowed ?? limit)
    case "known": throw registered
    default: break
    }
    guard let celeb, let since, let old, let oldSince, let removedAt else { throw notRegistered }
    try await transaction.enqueue([
      FanCount(celeb: old, fan: fan, since: oldSince, change: -1, at: removedAt),
      FanCount(celeb: celeb, fan: fan, since: since, change: 1, at: since),
    ])
    return try await self.celeb(account, of: fan, in: transaction.sql)
  }

  // MARK: Edit

  /// A fan's changes to one of its celebs.
  public struct Edit: Sendable, Hashable {
    /// An empty string removes the note; nil leaves it unchanged.
    public let note: String?
    /// The position in the list, from 1, which shifts the others; a position past the end means the end. Nil leaves it
    /// unchanged.
    public let position: Int?

    /// - Throws: `invalid_note`, `invalid_position`.
    public init(note: String? = nil, position: Int? = nil) throws(SocialError) {
      try FieldRules.text(note, "note", 0...500)
      if let position, position < 1 { throw .invalid("position", "must be a position in your list, from 1") }
      self.note = note
      self.position = position
    }
  }

  /// - Throws: `celeb_not_registered`.
  public static func edit(
    _ account: CelebAccount, _ edit: Edit, of fan: Int, in transaction: PostgresTransaction
  ) async throws -> FanCeleb {
    // Locks a fan's rows in the same order as hearts do. Registrations and moves serialize on the account's row.
    try await transaction.pipeline([
      "SELECT FROM accounts WHERE id = \(fan) FOR NO KEY UPDATE",
      "SELECT FROM celeb_fans WHERE account_id = \(fan) ORDER BY celeb_id FOR NO KEY UPDATE",
    ])
    let own = try await transaction.query(
      """
      SELECT celeb_id, c.platform = \(account.platform.rawValue) AND c.account = \(account.name)
      FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id WHERE f.account_id = \(fan) AND f.since IS NOT NULL
      ORDER BY f.position, f.since, f.celeb_id
      """
    ).decode(Int.self, Bool.self)
    guard let place = own.firstIndex(where: \.1) else { throw notRegistered }
    if let note = edit.note {
      try await transaction.execute(
        """
        UPDATE celeb_fans SET note = nullif(\(note), '') WHERE account_id = \(fan) AND celeb_id = \(own[place].0)
        """)
    }
    if let position = edit.position {
      var order = own.map(\.0)
      let celeb = order.remove(at: place)
      order.insert(celeb, at: min(position - 1, order.count))
      try await transaction.execute(
        """
        UPDATE celeb_fans f SET position = place FROM unnest(\(order)) WITH ORDINALITY AS wanted (celeb, place)
        WHERE f.account_id = \(fan) AND f.celeb_id = celeb AND f.position IS DISTINCT FROM place
        """)
    }
    return try await celeb(account, of: fan, in: transaction)
  }

  private static func overLimit(_ allowed: Int) -> SocialError {
    SocialError(.celebLimit, "an account may register at most \(allowed) celebs: remove or replace one")
  }

  private static let registered = SocialError(
    .celebRegistered, "you have already registered this celeb: choose another", field: "account")

  static let notRegistered = SocialError(
    .celebNotRegistered, "you have not registered this celeb: register it with PUT /v1/me/celebs/PLATFORM/ACCOUNT")
}
