import Foundation
import LibPQClient

/// A session as its account's owner sees it.
public struct OwnSession: Sendable, Hashable {
  /// Distinguishes it from the account's other sessions; grants no access.
  public let id: String
  /// The client's description of itself; nil if unknown.
  public let client: String?
  /// The network that opened it: the first 24 bits of IPv4, the first 48 of IPv6; nil if unknown.
  public let network: String?
  public let createdAt: Date
  public let expiresAt: Date
  /// Whether it is the session of this request.
  public let isCurrent: Bool
}

/// The origin of a new session.
public struct SessionOrigin: Sendable, Hashable {
  public let network: String
  public let client: String?

  /// - Parameter client: the client's description of itself, such as a `User-Agent`; 200 characters are kept.
  public init(_ address: ClientAddress, client: String?) {
    network = address.network
    let scalars = (client ?? "").unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(200)
    self.client = scalars.isEmpty ? nil : String(String.UnicodeScalarView(scalars))
  }
}

extension Sessions {
  /// How many sessions an account is shown: the newest ones.
  public static let shownLimit = 100

  /// An id derived from the token's hash: 16 hexadecimal digits.
  private static let id = "encode(substring(token_hash FOR 8), 'hex')"

  /// An account's active sessions, newest first.
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

  /// Ends all sessions of an account except the current one.
  public static func closeOthers(
    _ account: Int, than current: SessionToken, in transaction: PostgresTransaction
  ) async throws {
    try await transaction.execute(
      "DELETE FROM sessions WHERE account_id = \(account) AND token_hash <> \(current.hash)")
  }
}
