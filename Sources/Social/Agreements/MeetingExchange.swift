import Cryptography
import Foundation
import LibPQClient

/// What two devices send each other in a meeting: nonces, sealed messages, seals.
public enum MeetingExchange {
  /// How many messages each device may send, and how long each may be, in bytes.
  static let maxMessages = 8
  public static let maxMessageBytes = 98_304

  /// A joined meeting, locked.
  private struct Going {
    let isHost: Bool
    let host: (account: Int, key: [UInt8], commitment: [UInt8], nonce: [UInt8]?)
    let joiner: (account: Int, key: [UInt8], commitment: [UInt8], nonce: [UInt8]?)

    var own: (account: Int, key: [UInt8], commitment: [UInt8], nonce: [UInt8]?) { isHost ? host : joiner }
  }

  /// - Throws: `not_found`; `meeting_ended` if the meeting is not joined yet, is over, or the account may not see its
  ///   peer.
  private static func going(
    _ id: Int, of account: Int, in transaction: PostgresTransaction
  ) async throws -> Going {
    let rows = try await transaction.query(
      """
      SELECT m.host_id, m.host_key, m.host_commitment, m.host_nonce, m.joiner_id, m.joiner_key, m.joiner_commitment,
        m.joiner_nonce, m.state = 'joined' AND m.expires_at > clock_timestamp()
          AND EXISTS (SELECT FROM accounts a
            WHERE a.id = CASE WHEN m.host_id = \(account) THEN m.joiner_id ELSE m.host_id END
              AND \(Visibility.isVisible("a.id", to: account)))
      FROM agreement_meetings m WHERE m.id = \(id) AND \(account) IN (m.host_id, m.joiner_id) FOR UPDATE OF m
      """)
    guard let row = rows.first else { throw SocialError.notFound("meeting") }
    guard try Bool(postgres: row[8]) else {
      throw SocialError(.meetingEnded, "the meeting has ended or has not been joined yet: begin a new one")
    }
    return Going(
      isHost: try Int(postgres: row[0]) == account,
      host: (
        try Int(postgres: row[0]), try [UInt8](postgres: row[1]), try [UInt8](postgres: row[2]),
        try [UInt8]?(postgres: row[3])
      ),
      joiner: (
        try Int(postgres: row[4]), try [UInt8](postgres: row[5]), try [UInt8](postgres: row[6]),
        try [UInt8]?(postgres: row[7])
      ))
  }

  /// Opens an account's commitment.
  ///
  /// - Throws: `invalid_nonce` if the account did not commit to this nonce; `not_found`, `meeting_ended`.
  public static func open(
    _ nonce: [UInt8], _ id: Int, of account: Int, in transaction: PostgresTransaction
  ) async throws {
    let meeting = try await going(id, of: account, in: transaction)
    let own = meeting.own
    guard MeetingTranscript.commitment(to: own.key, nonce, isHosts: meeting.isHost) == own.commitment else {
      throw SocialError(.invalid("nonce"), "the nonce does not match the commitment", field: "nonce")
    }
    if own.nonce != nil { return }
    let column: PostgresQuery = meeting.isHost ? "host_nonce" : "joiner_nonce"
    try await transaction.execute("UPDATE agreement_meetings SET \(column) = \(nonce) WHERE id = \(id)")
  }

  /// Accepts a sealed message for the peer. Sending the same message again changes nothing.
  ///
  /// - Parameter number: counts from 1; the next number that the account has not sent.
  /// - Throws: `invalid_number`, `message_differs`, `not_found`, `meeting_ended`.
  public static func send(
    _ body: [UInt8], number: Int, _ id: Int, of account: Int, in transaction: PostgresTransaction
  ) async throws {
    let meeting = try await going(id, of: account, in: transaction)
    guard meeting.host.nonce != nil, meeting.joiner.nonce != nil else { throw notOpened }
    let known = try await transaction.query(
      """
      SELECT count(*), (SELECT body FROM agreement_messages
        WHERE meeting_id = \(id) AND is_hosts = \(meeting.isHost) AND number = \(Int32(clamping: number)))
      FROM agreement_messages WHERE meeting_id = \(id) AND is_hosts = \(meeting.isHost)
      """)[0]
    let count = try Int(postgres: known[0])
    if let known = try [UInt8]?(postgres: known[1]) {
      guard known == body else {
        throw SocialError(
          .messageDiffers, "message \(number) was already sent with different content: use each number once",
          field: "number")
      }
      return
    }
    guard number == count + 1, number <= maxMessages else {
      throw SocialError.invalid("number", "must be \(count + 1), the next one, and at most \(maxMessages)")
    }
    try await transaction.execute(
      """
      INSERT INTO agreement_messages (meeting_id, is_hosts, number, body)
      VALUES (\(id), \(meeting.isHost), \(Int32(number)), \(body))
      """)
  }

  /// The messages that the peer has sent after message `number`.
  ///
  /// - Throws: `not_found`.
  public static func messages(
    _ id: Int, of account: Int, after number: Int, in reader: some SocialReader
  ) async throws -> [(number: Int, body: [UInt8])] {
    let meeting = try await Meetings.read(id, of: account, in: reader)
    if meeting.peer == nil { return [] }
    return try await reader.rows(
      """
      SELECT number, body FROM agreement_messages
      WHERE meeting_id = \(id) AND is_hosts = \(!meeting.isHost) AND number > \(Int32(clamping: number)) ORDER BY number
      """
    ).decode(Int32.self, [UInt8].self).map { (Int($0.0), $0.1) }
  }

  // MARK: Sealing

  /// Accepts an account's seal. The second seal of the same record creates the agreement and both copies in one
  /// transaction.
  ///
  /// - Returns: whether both have sealed now.
  /// - Throws: `forged_seal` if the signature is not the account's, `seals_differ` if the peer has sealed another
  ///   record, `meeting_not_opened`, `not_found`, `meeting_ended`.
  @discardableResult
  public static func seal(
    _ seal: MeetingSeal, _ id: Int, of account: Int, in transaction: PostgresTransaction
  ) async throws -> Bool {
    try await transaction.execute("SELECT FROM agreement_meetings WHERE id = \(id) FOR UPDATE")
    if try await isSealed(seal, id, of: account, in: transaction) { return true }
    let meeting = try await going(id, of: account, in: transaction)
    guard let hostNonce = meeting.host.nonce, let joinerNonce = meeting.joiner.nonce else { throw notOpened }
    let transcript = MeetingTranscript.of(
      host: (meeting.host.key, hostNonce), joiner: (meeting.joiner.key, joinerNonce))
    let key = try Ed25519PublicKey(Array(meeting.own.key.suffix(32)))
    guard key.isValid(seal.signature, for: MeetingTranscript.signed(transcript, seal.hash)) else {
      throw SocialError(
        .forgedSeal, "the signature does not match this record and this meeting's key", field: "signature")
    }
    try await transaction.execute(
      """
      INSERT INTO agreement_seals (meeting_id, is_hosts, hash, signature, expires_at, copy)
      VALUES (\(id), \(meeting.isHost), \(seal.hash), \(seal.signature), \(seal.expiresAt), \(seal.copy))
      ON CONFLICT (meeting_id, is_hosts) DO UPDATE SET hash = excluded.hash, signature = excluded.signature,
        expires_at = excluded.expires_at, copy = excluded.copy
      """)
    let peers = try await transaction.query(
      """
      SELECT hash = \(seal.hash) AND expires_at = \(seal.expiresAt) FROM agreement_seals
      WHERE meeting_id = \(id) AND is_hosts = \(!meeting.isHost)
      """
    ).decode(Bool.self)
    guard let isSame = peers.first else { return false }
    guard isSame else {
      throw SocialError(.sealsDiffer, "the other device sealed a different record: begin a new meeting", field: "hash")
    }
    try await transaction.pipeline([
      """
      INSERT INTO agreements (id, host_id, joiner_id, hash, host_key, joiner_key, host_signature, joiner_signature,
        sealed_at, expires_at)
      SELECT m.id, m.host_id, m.joiner_id, h.hash, m.host_key, m.joiner_key, h.signature, j.signature,
        date_trunc('second', clock_timestamp()), h.expires_at
      FROM agreement_meetings m JOIN agreement_seals h ON h.meeting_id = m.id AND h.is_hosts
      JOIN agreement_seals j ON j.meeting_id = m.id AND NOT j.is_hosts WHERE m.id = \(id)
      """,
      """
      INSERT INTO agreement_copies (account_id, agreement_id, copy)
      SELECT CASE WHEN s.is_hosts THEN m.host_id ELSE m.joiner_id END, m.id, s.copy
      FROM agreement_meetings m JOIN agreement_seals s ON s.meeting_id = m.id WHERE m.id = \(id)
      """,
      "DELETE FROM agreement_seals WHERE meeting_id = \(id)",
      "DELETE FROM agreement_messages WHERE meeting_id = \(id)",
      "UPDATE agreement_meetings SET state = 'sealed' WHERE id = \(id)",
    ])
    return true
  }

  /// Whether this seal was already accepted: its response was lost and the client sent it again.
  private static func isSealed(
    _ seal: MeetingSeal, _ id: Int, of account: Int, in transaction: PostgresTransaction
  ) async throws -> Bool {
    try await !transaction.query(
      """
      SELECT FROM agreements WHERE id = \(id) AND hash = \(seal.hash)
        AND ((host_id = \(account) AND host_signature = \(seal.signature))
          OR (joiner_id = \(account) AND joiner_signature = \(seal.signature)))
      """
    ).isEmpty
  }

  private static let notOpened = SocialError(
    .meetingNotOpened, "both devices must open their commitments first")
}
