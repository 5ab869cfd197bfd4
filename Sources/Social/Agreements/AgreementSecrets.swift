import Cryptography

/// The secrets that the server protects with a key from its settings, so that the database alone opens no meeting and
/// no backup.
public struct AgreementSecrets: Sendable {
  private let codes: HMACSHA256
  private let proofs: HMACSHA256
  private let seal: AES256GCM
  /// Signs receipts.
  public let signing: SigningKeys

  /// - Parameter secret: the key that also signs certificates.
  public init(secret: String) {
    let key = HMACSHA256(key: secret.utf8)
    codes = HMACSHA256(key: key.code(for: "fanmill agreement codes".utf8))
    proofs = HMACSHA256(key: key.code(for: "fanmill agreement proofs".utf8))
    seal = AES256GCM(secret: secret.utf8, purpose: "fanmill agreement backups")
    signing = SigningKeys(secret: secret)
  }

  /// The database's form of the code of a host's meeting.
  func hash(ofCode code: String, of host: Int) -> [UInt8] { codes.code(for: "\(host) \(code)".utf8) }

  /// The database's form of a passcode proof.
  func verifier(_ proof: [UInt8], of account: Int) -> [UInt8] { proofs.code(for: Array("\(account) ".utf8) + proof) }

  func seal(_ secret: [UInt8], of account: Int) throws(CryptographyError) -> [UInt8] {
    try seal.seal(secret, for: String(account))
  }

  /// Nil if it was sealed with another key.
  func open(_ sealed: [UInt8], of account: Int) -> [UInt8]? { seal.open(sealed, for: String(account)) }
}
