import Foundation
import LibPQClient

/// What accounts are called: names made for who chooses none, and names that were given up.
public enum Usernames {
  /// How many names an account gives up within 30 days: each is kept from all others as long.
  static let formerLimit = 5

  /// A username for who has chosen none, made of their name. Free when it is looked at: who takes it first has it.
  static func made(from name: String, in transaction: PostgresTransaction) async throws -> String {
    let base = latin(name)
    // The shortest that is free. Numbers are drawn: many accounts of one name do not try the same ones in a row.
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

  /// A name in letters that a username may have: `gimminji` for 김민지. `user` where none is left.
  static func latin(_ name: String) -> String {
    let latin =
      name.applyingTransform(.toLatin, reverse: false)?.applyingTransform(.stripDiacritics, reverse: false) ?? name
    let letters = latin.lowercased().utf8.filter { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    return letters.isEmpty ? "user" : String(decoding: letters.prefix(30), as: UTF8.self)
  }

  /// Calls an account otherwise. Its old name leads to it for 30 days and is nobody else's meanwhile.
  ///
  /// - Throws: `username_taken`, `too_many_usernames`.
  static func change(_ account: Int, to username: String, in transaction: PostgresTransaction) async throws {
    do {
      try await transaction.execute("UPDATE accounts SET username = \(username) WHERE id = \(account)")
    } catch {
      if let taken = taken(by: error) { throw taken }
      throw error
    }
    // Under the lock of the account's row.
    let rows = try await transaction.query(
      """
      SELECT count(*), ceil(extract(epoch FROM min(kept_until) - clock_timestamp()))::bigint FROM former_usernames
      WHERE account_id = \(account) AND kept_until > clock_timestamp()
      """)
    let (count, seconds) = try rows[0].decode(Int.self, Int?.self)
    guard count <= formerLimit else {
      throw SocialError(
        .tooManyUsernames, "a username is changed \(formerLimit) times within 30 days at most: keep this one for now",
        field: "username", retryAfter: seconds)
    }
  }

  /// What an error says of a name: that another account has it, or had it within 30 days. nil for another error.
  static func taken(by error: PostgresError) -> SocialError? {
    guard ["accounts_username_key", "former_usernames_key"].contains(error.constraint) else { return nil }
    return SocialError(.usernameTaken, "the username is taken: choose another", field: "username")
  }

  /// Why nobody is called `username`: who was, within 30 days, is called otherwise (`AccountMoved`), or `not_found`.
  ///
  /// - Parameter viewer: who asks and may not see every account; nil for operators.
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

  /// Lets go of names that were kept long enough.
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

/// The account is called otherwise since less than 30 days.
public struct AccountMoved: Error, Hashable, CustomStringConvertible {
  /// As it was asked for.
  public let from: String
  public let to: String
  public var description: String { "the account '\(from)' is called '\(to)' now" }
}
