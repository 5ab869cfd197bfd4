import LibPQClient

/// Finds and fixes addresses that are not in the normal form: non-ASCII ones that earlier versions stored.
public enum EmailAddresses {
  /// Two accounts whose addresses have the same normal form.
  public struct Collision: Sendable, Hashable {
    /// The account that cannot sign in by its address.
    public let username: String
    /// The account that has the address in its normal form, or will have it.
    public let other: String
  }

  private struct Address {
    let account: Int
    let username: String
    let email: String
    var normal: String { NormalForm.compared(email) }
    // Compares scalars: Swift strings compare equal regardless of composition.
    var isNormal: Bool { Array(email.unicodeScalars) == Array(normal.unicodeScalars) }
  }

  private static let page = 1000

  /// Rewrites addresses into the normal form. An address whose normal form belongs to another account is left alone: a
  /// program cannot decide which account owns it.
  ///
  /// - Returns: how many addresses changed.
  @discardableResult
  static func normalize(in transaction: PostgresTransaction) async throws -> Int {
    var changed = 0
    for address in try await foreign(in: transaction) {
      let normal = address.normal
      changed += try await transaction.execute(
        """
        UPDATE accounts SET email = \(normal) WHERE id = \(address.account) AND email = \(address.email)
          AND NOT EXISTS (SELECT FROM accounts o
            WHERE lower(o.email COLLATE "C") = \(normal) AND o.email IS NOT NULL AND o.id <> \(address.account))
        """)
    }
    return changed
  }

  /// The accounts whose addresses collide in the normal form.
  public static func collisions(in reader: some SocialReader) async throws -> [Collision] {
    var collisions: [Collision] = []
    var first: [String: String] = [:]
    for address in try await foreign(in: reader) {
      let normal = address.normal
      let holders = try await reader.rows(
        """
        SELECT username FROM accounts WHERE lower(email COLLATE "C") = \(normal) AND email IS NOT NULL
          AND id <> \(address.account)
        """
      ).decode(String.self)
      if let other = holders.first ?? first[normal] {
        collisions.append(Collision(username: address.username, other: other))
      } else {
        first[normal] = address.username
      }
    }
    return collisions
  }

  /// The addresses that are not in the normal form, in account order.
  private static func foreign(in reader: some SocialReader) async throws -> [Address] {
    var found: [Address] = []
    var last = 0
    while true {
      let rows = try await reader.rows(
        """
        SELECT id, username, email FROM accounts WHERE octet_length(email) <> length(email) AND id > \(last)
        ORDER BY id LIMIT \(page)
        """
      ).decode(Int.self, String.self, String.self)
      found += rows.map { Address(account: $0.0, username: $0.1, email: $0.2) }.filter { !$0.isNormal }
      guard rows.count == page, let id = rows.last?.0 else { return found }
      last = id
    }
  }
}
