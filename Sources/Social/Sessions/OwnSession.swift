import Foundation
import LibPQClient

/// A session as its account's owner sees it.
public struct OwnSession: Sendable, Hashable {
  /// Tells it from the account's others; opens nothing.
  public let id: String
  /// What the program said that it is; nil where that is not known.
  public let client: String?
  /// From where it was opened: of IPv4 the first 24 bits, of IPv6 the first 48; nil where that is not known.
  public let network: String?
  public let createdAt: Date
  public let expiresAt: Date
  /// Whether the request came in it.
  public let isCurrent: Bool
}

/// Where a session is opened from.
public struct SessionOrigin: Sendable, Hashable {
  public let network: String
  public let client: String?

  /// - Parameter client: what the program says that it is, such as a `User-Agent`; 200 characters are kept.
  public init(_ address: ClientAddress, client: String?) {
    network = address.network
    let scalars = (client ?? "").unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(200)
    self.client = scalars.isEmpty ? nil : String(String.UnicodeScalarView(scalars))
  }
}

extension Sessions {
  /// How many of its sessions an account is shown: the newest.
  public static let shownLimit = 100

  /// An id made of the token's hash: 16 hexadecimal digits.
  private static let id = "encode(substring(token_hash FOR 8), 'hex')"

  /// An account's sessions that go on, the newest first.
  public static func own(
    _ account: Int, current: SessionToken, in reader: some SocialReader
  ) async throws -> [OwnSession] {
    try await reader.rows(
      """
      SELECT \(unescaped: id), client, network, created_at, expires_at, token_hash = \(current.hash)
      FROM sessions WHERE account_id = \(account) AND expires_at > now()
      ORDER BY created_at DESC, token_hash LIMIT \(shownLimit)
      """
    ).decode(String.self, String?.self, String?.self, Date.self, Date.self, Bool.self).map {
      OwnSession(id: $0.0, client: $0.1, network: $0.2, createdAt: $0.3, expiresAt: $0.4, isCurrent: $0.5)
    }
  }

  /// Ends one of an account's sessions.
  ///
  /// - Throws: `not_found`.
  public static func close(_ id: String, of account: Int, in transaction: PostgresTransaction) async throws {
    let closed = try await transaction.execute(
      "DELETE FROM sessions WHERE account_id = \(account) AND \(unescaped: Self.id) = \(id)")
    guard closed > 0 else { throw SocialError.notFound("session") }
  }

  /// Ends all sessions of an account but the current one.
  public static func closeOthers(
    _ account: Int, than current: SessionToken, in transaction: PostgresTransaction
  ) async throws {
    try await transaction.execute(
      "DELETE FROM sessions WHERE account_id = \(account) AND token_hash <> \(current.hash)")
  }
}
