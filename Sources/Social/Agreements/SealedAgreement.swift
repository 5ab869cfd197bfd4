import Cryptography
import Foundation
import LibPQClient

/// An account's record of a sealed agreement. The copy is ciphertext that only the owner's device can read.
public struct SealedAgreement: Sendable, Hashable {
  public let id: Int
  public let isHost: Bool
  /// The other party; nil if its account is deleted or not visible to this one.
  public let peer: AccountSummary?
  public let hash: [UInt8]
  public let hostKey: [UInt8]
  public let joinerKey: [UInt8]
  public let hostSignature: [UInt8]
  public let joinerSignature: [UInt8]
  public let sealedAt: Date
  public let expiresAt: Date
  public let withdrawnAt: Date?
  public let isWithdrawnByHost: Bool?
  public let copy: [UInt8]

  /// The server's statement about the agreement as of now: a JWS.
  public func receipt(signedBy key: SigningKey, now: Date) throws -> String {
    try key.sign(
      Claims(
        agreement: id, hash: Base64URL.text(hash), hostKey: Base64URL.text(hostKey),
        joinerKey: Base64URL.text(joinerKey), hostSignature: Base64URL.text(hostSignature),
        joinerSignature: Base64URL.text(joinerSignature), sealedAt: Self.seconds(sealedAt),
        expiresAt: Self.seconds(expiresAt), withdrawnAt: withdrawnAt.map(Self.seconds), iat: Self.seconds(now)),
      as: "agreement-receipt+jwt")
  }

  private struct Claims: Encodable {
    let agreement: Int
    let hash: String
    let hostKey: String
    let joinerKey: String
    let hostSignature: String
    let joinerSignature: String
    let sealedAt: Int
    let expiresAt: Int
    let withdrawnAt: Int?
    let iat: Int
  }

  private static func seconds(_ date: Date) -> Int { Int(date.timeIntervalSince1970) }
}

/// Reads, deletes and withdraws sealed agreements.
public enum SealedAgreements {
  /// An account's agreements, newest first. The cursor is the last one's id.
  public static func list(
    of account: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<SealedAgreement> {
    let found = try await read(
      "g.id < \(page.cursor) ORDER BY g.id DESC LIMIT \(page.limit + 1)", of: account, in: reader)
    return Page(found, limit: page.limit, cursor: \.id)
  }

  /// - Throws: `not_found` if the account has no copy of it.
  public static func one(_ id: Int, of account: Int, in reader: some SocialReader) async throws -> SealedAgreement {
    guard let found = try await read("g.id = \(id)", of: account, in: reader).first else {
      throw SocialError.notFound("agreement")
    }
    return found
  }

  private static func read(
    _ condition: PostgresQuery, of account: Int, in reader: some SocialReader
  ) async throws -> [SealedAgreement] {
    try await reader.rows(
      """
      SELECT g.id, g.host_id = \(account), g.hash, g.host_key, g.joiner_key, g.host_signature, g.joiner_signature,
        g.sealed_at, g.expires_at, g.withdrawn_at, g.is_withdrawn_by_host, c.copy, \(unescaped: AccountSummary.columns)
      FROM agreement_copies c JOIN agreements g ON g.id = c.agreement_id
      LEFT JOIN accounts a ON a.id = CASE WHEN g.host_id = \(account) THEN g.joiner_id ELSE g.host_id END
        AND \(Visibility.isVisible("a.id", to: account))
      WHERE c.account_id = \(account) AND \(condition)
      """
    ).map { row in
      SealedAgreement(
        id: try Int(postgres: row[0]), isHost: try Bool(postgres: row[1]),
        peer: row[12].isNull ? nil : try AccountSummary(row: row, at: 12), hash: try [UInt8](postgres: row[2]),
        hostKey: try [UInt8](postgres: row[3]), joinerKey: try [UInt8](postgres: row[4]),
        hostSignature: try [UInt8](postgres: row[5]), joinerSignature: try [UInt8](postgres: row[6]),
        sealedAt: try Date(postgres: row[7]), expiresAt: try Date(postgres: row[8]),
        withdrawnAt: try Date?(postgres: row[9]), isWithdrawnByHost: try Bool?(postgres: row[10]),
        copy: try [UInt8](postgres: row[11]))
    }
  }

  /// Deletes an account's own copy. The other party's copy remains; the agreement is deleted with the last copy.
  ///
  /// - Throws: `not_found`.
  public static func delete(_ id: Int, of account: Int, in transaction: PostgresTransaction) async throws {
    let gone = try await transaction.execute(
      "DELETE FROM agreement_copies WHERE account_id = \(account) AND agreement_id = \(id)")
    guard gone == 1 else { throw SocialError.notFound("agreement") }
  }

  /// Withdraws an agreement for a party, whether or not it keeps a copy. A later withdrawal does not change the first.
  ///
  /// - Returns: when it was withdrawn.
  /// - Throws: `not_found`.
  public static func withdraw(_ id: Int, by account: Int, in transaction: PostgresTransaction) async throws -> Date {
    let rows = try await transaction.query(
      """
      UPDATE agreements SET withdrawn_at = coalesce(withdrawn_at, date_trunc('second', clock_timestamp())),
        is_withdrawn_by_host = coalesce(is_withdrawn_by_host, host_id = \(account))
      WHERE id = \(id) AND \(account) IN (host_id, joiner_id) RETURNING withdrawn_at
      """)
    guard let date = try rows.decode(Date.self).first else { throw SocialError.notFound("agreement") }
    return date
  }
}
