import Cryptography
import Foundation
import LibPQClient

/// Stores an account's copy keys, locked under a passcode, and counts every attempt to open them.
///
/// Opening a backup takes both the passcode and a secret that this server seals with a key from its settings. The tenth
/// wrong attempt destroys the backup.
public struct AgreementBackups: Sendable {
  public static let maxTries = 10

  private let secrets: AgreementSecrets

  public init(secrets: AgreementSecrets) { self.secrets = secrets }

  /// A backup as its owner's device created it, validated on creation.
  public struct Draft: Sendable {
    let salt: [UInt8]
    let proof: [UInt8]
    let secret: [UInt8]
    let locked: [UInt8]

    /// - Throws: `invalid_salt`, `invalid_proof`, `invalid_secret`, `invalid_locked`.
    public init(salt: String, proof: String, secret: String, locked: String) throws(SocialError) {
      self.salt = try AgreementBytes.read(salt, "salt", 16...16)
      self.proof = try AgreementBytes.read(proof, "proof", 32...32)
      self.secret = try AgreementBytes.read(secret, "secret", 32...32)
      self.locked = try AgreementBytes.read(locked, "locked", 28...262_144)
    }
  }

  /// What the server reveals about a backup without the passcode.
  public struct Summary: Sendable {
    public let salt: [UInt8]
    public let triesLeft: Int
    public let updatedAt: Date
  }

  /// Stores a backup, replacing any previous one.
  public func keep(_ draft: Draft, of account: Int, in transaction: PostgresTransaction) async throws {
    let (verifier, secret) = (
      secrets.verifier(draft.proof, of: account), try secrets.seal(draft.secret, of: account)
    )
    try await transaction.execute(
      """
      INSERT INTO agreement_backups (account_id, salt, verifier, secret, locked)
      VALUES (\(account), \(draft.salt), \(verifier), \(secret), \(draft.locked))
      ON CONFLICT (account_id) DO UPDATE SET salt = excluded.salt, verifier = excluded.verifier,
        secret = excluded.secret, locked = excluded.locked, wrong_tries = 0, updated_at = now()
      """)
  }

  /// - Throws: `not_found`.
  public static func summary(of account: Int, in reader: some SocialReader) async throws -> Summary {
    let rows = try await reader.rows(
      """
      SELECT salt, wrong_tries, updated_at FROM agreement_backups
      WHERE account_id = \(account) AND wrong_tries < \(Int16(maxTries))
      """
    ).decode([UInt8].self, Int16.self, Date.self)
    guard let (salt, tries, date) = rows.first else { throw none }
    return Summary(salt: salt, triesLeft: maxTries - Int(tries), updatedAt: date)
  }

  /// - Throws: `not_found`.
  public static func delete(of account: Int, in transaction: PostgresTransaction) async throws {
    let gone = try await transaction.execute("DELETE FROM agreement_backups WHERE account_id = \(account)")
    if gone == 0 { throw none }
  }

  /// Attempts to open an account's backup. The attempt is counted and committed before the proof is checked.
  ///
  /// - Returns: the locked keys, and the secret that opens them together with the passcode.
  /// - Throws: `wrong_passcode`; `backup_destroyed` for the tenth wrong attempt; `not_found`; `agreements_off` if the
  ///   secret was sealed with another key.
  public func open(
    proof: [UInt8], of account: Int, in pool: PostgresPool
  ) async throws -> (locked: [UInt8], secret: [UInt8]) {
    let rows = try await pool.query(
      """
      UPDATE agreement_backups SET wrong_tries = wrong_tries + 1
      WHERE account_id = \(account) AND wrong_tries < \(Int16(Self.maxTries))
      RETURNING wrong_tries, verifier, secret, locked
      """
    ).decode(Int16.self, [UInt8].self, [UInt8].self, [UInt8].self)
    guard let (tries, verifier, sealed, locked) = rows.first else {
      // The process that counted the tenth attempt may have died before it deleted the backup.
      try await pool.execute(
        "DELETE FROM agreement_backups WHERE account_id = \(account) AND wrong_tries >= \(Int16(Self.maxTries))")
      throw Self.none
    }
    guard isEqualInConstantTime(verifier, secrets.verifier(proof, of: account)) else {
      guard tries >= Self.maxTries else {
        throw SocialError(
          .wrongPasscode, "wrong passcode: \(Self.maxTries - Int(tries)) tries left", field: "proof")
      }
      try await pool.execute(
        "DELETE FROM agreement_backups WHERE account_id = \(account) AND wrong_tries >= \(Int16(Self.maxTries))")
      throw SocialError(.backupDestroyed, "wrong passcode for the tenth time: the backup has been destroyed")
    }
    guard let secret = secrets.open(sealed, of: account) else {
      throw SocialError(.agreementsOff, "the backup was sealed with another FANMILL_CERTIFICATE_KEY: ask the operator")
    }
    // A correct attempt resets the owner's count of wrong ones.
    try await pool.execute(
      "UPDATE agreement_backups SET wrong_tries = 0 WHERE account_id = \(account) AND verifier = \(verifier)")
    return (locked, secret)
  }

  private static let none = SocialError(.notFound, "there is no backup: it was never made, or it was destroyed")
}
