import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Registers celebs for their fans.
public enum Celebs {
  /// How many celebs an account registers at most, unless a setting or its own `celeb_limit` says otherwise.
  public static let usualLimit = 3

  /// The celebs that an account has registered, the oldest first.
  public static func list(of fan: Int, in reader: some SocialReader) async throws -> [FanCeleb] {
    try await reader.rows(
      """
      SELECT \(unescaped: FanCeleb.columns) FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id
      WHERE f.account_id = \(fan) AND f.since IS NOT NULL ORDER BY f.since, c.id
      """
    ).map { try FanCeleb(row: $0) }
  }

  /// - Throws: `celeb_not_registered`.
  public static func celeb(
    _ account: CelebAccount, of fan: Int, in reader: some SocialReader
  ) async throws -> FanCeleb {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: FanCeleb.columns) FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id
      WHERE c.platform = \(account.platform.rawValue) AND c.account = \(account.name)
        AND f.account_id = \(fan) AND f.since IS NOT NULL
      """)
    guard let row = rows.first else { throw notRegistered }
    return try FanCeleb(row: row)
  }

  /// Registers a celeb. One that is registered already is left as it is.
  ///
  /// - Parameters:
  ///   - limit: how many celebs an account may register that has no limit of its own.
  ///   - now: the time of the registration; nil for the present.
  /// - Throws: `celeb_limit`, `not_found` for an account that is gone.
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
    case "limit":
      throw SocialError(
        .celebLimit, "an account registers at most \(allowed ?? limit) celebs: remove one first")
    case "no_account": throw SocialError.notFound("account")
    default: break
    }
    if outcome == "registered", let celeb, let since {
      try await transaction.enqueue(FanCount(celeb: celeb, fan: fan, since: since, change: 1, at: since))
    }
    return try await self.celeb(account, of: fan, in: transaction.sql)
  }

  /// Removes a celeb. Hearts that were given stay given.
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

  static let notRegistered = SocialError(
    .celebNotRegistered, "the celeb is not among your own: register it with PUT /v1/me/celebs/PLATFORM/ACCOUNT")
}
