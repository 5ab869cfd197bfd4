import Foundation
import LibPQClient

/// Makes usernames for accounts that choose none, and keeps former usernames reserved.
public enum Usernames {
  /// How many usernames an account may give up within 30 days. Each stays reserved for those 30 days.
  static let formerLimit = 5

  /// A username derived from the account's name. It is free when checked, but not reserved: another account may take it
  /// first.
  static func made(from name: String, in transaction: PostgresTransaction) async throws -> String {
    let base = latin(name)
    // Picks the shortest free candidate. Random suffixes keep accounts with the same name from trying the same ones in
    // turn.
    let candidates = [base] + [9, 99, 999, 999_999, 999_999_999].map { "\(base)\(Int.random(in: 1...$0))" }
    let free = try await transaction.query(
      """
      SELECT name FROM unnest(\(candidates)) WITH ORDINALITY AS c (name, place)
      WHERE NOT EXISTS (SELECT FROM accounts a WHERE lower(a.username) COLLATE "C" = c.name COLLATE "C")
        AND NOT EXISTS (SELECT FROM former_usernames f WHERE lower(f.username) COLLATE "C" = c.name COLLATE "C")
      ORDER BY place LIMIT 1
      """
    ).decode(String.self)
    return free.first ?? "\(base)\(UInt64.random(in: 0...(.max)))"
  }

  /// A name reduced to the characters that a username allows: `gimminji` for 김민지. `user` if none remain.
  static func latin(_ name: String) -> String {
    let latin =
      name.applyingTransform(.toLatin, reverse: false)?.applyingTransform(.stripDiacritics, reverse: false) ?? name
    let letters = latin.lowercased().utf8.filter { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    return letters.isEmpty ? "user" : String(decoding: letters.prefix(30), as: UTF8.self)
  }

  /// Renames an account. The old name redirects to it for 30 days, and no other account can take it meanwhile.
  ///
  /// - Throws: `username_taken`, `too_many_usernames`.
  static func change(_ account: Int, to username: String, in transaction: PostgresTransaction) async throws {
    do {
      try await transaction.execute("UPDATE accounts SET username = \(username) WHERE id = \(account)")
    } catch {
      if let taken = taken(by: error) { throw taken }
      throw error
    }
    // The update above holds the lock on the account's row.
    let rows = try await transaction.query(
      """
      SELECT count(*), ceil(extract(epoch FROM min(kept_until) - clock_timestamp()))::bigint FROM former_usernames
      WHERE account_id = \(account) AND kept_until > clock_timestamp()
      """)
    let (count, seconds) = try rows[0].decode(Int.self, Int?.self)
    guard count <= formerLimit else {
      throw SocialError(
        .tooManyUsernames,
        "a username can be changed at most \(formerLimit) times within 30 days: keep this one for now",
        field: "username", retryAfter: seconds)
    }
  }

  /// The error for a taken username, if another account has the name or had it within 30 days. nil for other errors.
  static func taken(by error: PostgresError) -> SocialError? {
    guard ["accounts_username_key", "former_usernames_key"].contains(error.constraint) else { return nil }
    return SocialError(.usernameTaken, "the username is taken: choose another", field: "username")
  }

  /// The reason that no account is named `username`: `AccountMoved` if one was renamed within 30 days, otherwise
  /// `not_found`.
  ///
  /// - Parameter viewer: the requesting account, which may not see every account; nil for operators.
  static func absence(
    of username: String, seenBy viewer: Int? = nil, in reader: some SocialReader
  ) async throws -> any Error {
    let names = try await reader.rows(
      """
      SELECT a.username FROM former_usernames f JOIN accounts a ON a.id = f.account_id
      WHERE lower(f.username) COLLATE "C" = lower(\(username)) COLLATE "C" AND f.kept_until > clock_timestamp()
        AND (\(viewer == nil) OR \(Visibility.isVisible("a.id", to: viewer)))
      """
    ).decode(String.self)
    return names.first.map { AccountMoved(from: username, to: $0) } ?? SocialError.notFound("account")
  }

  /// Releases names that have been reserved for 30 days.
  ///
  /// - Returns: how many, at most `limit`.
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM former_usernames WHERE lower(username) COLLATE "C" IN (
        SELECT lower(username) COLLATE "C" FROM former_usernames WHERE kept_until <= now() ORDER BY kept_until
        LIMIT \(limit) FOR UPDATE SKIP LOCKED)
      """)
  }
}

/// The account changed its username less than 30 days ago.
public struct AccountMoved: Error, Hashable, CustomStringConvertible {
  /// The requested name.
  public let from: String
  public let to: String
  public var description: String { "the account '\(from)' is now called '\(to)'" }
}
