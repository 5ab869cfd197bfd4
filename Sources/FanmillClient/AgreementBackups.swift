import Foundation

/// A backup of the keys to an account's copies, made on the device from a passcode.
///
/// Descriptions, mirrors and dumps omit its content.
public struct AgreementBackup: Sendable, Hashable, Encodable, CustomStringConvertible, CustomReflectable {
  /// 16 bytes.
  public var salt: Data
  /// 32 bytes: half of what scrypt makes of the passcode.
  public var proof: Data
  /// 32 bytes, which the server releases for the right proof alone.
  public var secret: Data
  /// The locked keys, 28 bytes to 256 KiB.
  public var locked: Data

  public init(salt: Data, proof: Data, secret: Data, locked: Data) {
    self.salt = salt
    self.proof = proof
    self.secret = secret
    self.locked = locked
  }

  public var description: String { "AgreementBackup(…)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What the server tells about a backup without the passcode.
public struct AgreementBackupSummary: Sendable, Hashable, Codable {
  /// 16 bytes.
  public var salt: Data
  /// How many wrong passcodes are left before the backup is destroyed.
  public var triesLeft: Int
  public var updatedAt: Date

  public init(salt: Data, triesLeft: Int, updatedAt: Date) {
    self.salt = salt
    self.triesLeft = triesLeft
    self.updatedAt = updatedAt
  }
}

/// An opened backup.
///
/// Descriptions, mirrors and dumps omit its content.
public struct OpenedAgreementBackup: Sendable, Hashable, Decodable, CustomStringConvertible, CustomReflectable {
  public var locked: Data
  public var secret: Data

  public init(locked: Data, secret: Data) {
    self.locked = locked
    self.secret = secret
  }

  public var description: String { "OpenedAgreementBackup(…)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension FanmillClient {
  /// `agreements/backup`.
  public struct AgreementBackups: Sendable {
    let sender: RequestSender

    /// Stores a backup in place of the one before.
    public func store(_ backup: AgreementBackup) async throws {
      try await sender.send(APIRequest(.put, ["agreements", "backup"], body: backup))
    }

    /// - Throws: `not_found`.
    public func summary() async throws -> AgreementBackupSummary {
      try await sender.value(APIRequest(.get, ["agreements", "backup"]))
    }

    private struct Proof: Encodable { var proof: Data }

    /// Opens the backup. Each wrong proof counts: the tenth destroys it. The request is sent once.
    ///
    /// - Throws: `wrong_passcode`, `backup_destroyed`, `not_found`.
    public func open(proof: Data) async throws -> OpenedAgreementBackup {
      try await sender.value(
        APIRequest(.post, ["agreements", "backup", "open"], body: Proof(proof: proof), repetition: .never))
    }

    public func delete() async throws { try await sender.send(APIRequest(.delete, ["agreements", "backup"])) }
  }
}
