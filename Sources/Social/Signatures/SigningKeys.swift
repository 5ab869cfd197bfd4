import Cryptography
import DurableJobs
import Foundation
import LibPQClient

/// A key that signs what the service issues: Ed25519.
public struct SigningKey: Sendable {
  public let id: String
  private let key: Ed25519PrivateKey

  init(id: String, key: Ed25519PrivateKey) {
    self.id = id
    self.key = key
  }

  private struct Header: Encodable {
    let alg = "EdDSA"
    let kid: String
    let typ: String
  }

  /// Signs a payload as a JWS (RFC 7515) in compact form.
  ///
  /// - Parameter type: the kind of payload, so that a signature for one use is not accepted for another.
  func sign(_ payload: some Encodable, as type: String) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .secondsSince1970
    let message =
      Base64URL.text(try encoder.encode(Header(kid: id, typ: type))) + "." + Base64URL.text(try encoder.encode(payload))
    return message + "." + Base64URL.text(try key.signature(for: message.utf8))
  }
}

/// The public half of a signing key.
public struct PublicSigningKey: Sendable, Hashable {
  public let id: String
  /// 32 bytes.
  public let bytes: [UInt8]
  public let createdAt: Date
  /// Whether it signs; other keys only verify earlier signatures.
  public let isCurrent: Bool
}

/// Stores signing keys in the database. Their private halves are sealed with a key from the settings, so the database
/// alone cannot sign.
public struct SigningKeys: Sendable {
  private let seal: AES256GCM

  /// - Parameter secret: from the settings; changing it keeps old signatures valid, but requires a new key.
  public init(secret: String) { seal = AES256GCM(secret: secret.utf8, purpose: "fanmill signing keys") }

  /// The signing key; creates one on first use.
  ///
  /// - Throws: `certificates_off` if its private half was sealed with another secret.
  public func current(in pool: PostgresPool) async throws -> SigningKey {
    if let key = try await read(in: pool) { return key }
    _ = try await pool.transaction { try await add(in: $0) }
    guard let key = try await read(in: pool) else { throw Self.sealedOtherwise }
    return key
  }

  /// Creates a new key that signs from now on. Earlier keys still verify what they signed.
  @discardableResult
  public func rotate(in transaction: PostgresTransaction) async throws -> String {
    try await transaction.execute("UPDATE signing_keys SET is_current = false WHERE is_current")
    return try await add(in: transaction)
  }

  /// All public keys, newest first.
  public static func all(in reader: some SocialReader) async throws -> [PublicSigningKey] {
    try await reader.rows(
      "SELECT id, public_key, created_at, is_current FROM signing_keys ORDER BY created_at DESC, id"
    ).decode(String.self, [UInt8].self, Date.self, Bool.self)
      .map { PublicSigningKey(id: $0.0, bytes: $0.1, createdAt: $0.2, isCurrent: $0.3) }
  }

  /// The key with this id; nil if there is none.
  static func key(_ id: String, in reader: some SocialReader) async throws -> Ed25519PublicKey? {
    let rows = try await reader.rows("SELECT public_key FROM signing_keys WHERE id = \(id)")
    return try rows.decode([UInt8].self).first.map { try Ed25519PublicKey($0) }
  }

  private func read(in reader: some SocialReader) async throws -> SigningKey? {
    let rows = try await reader.rows("SELECT id, sealed_key FROM signing_keys WHERE is_current")
    guard let (id, sealed) = try rows.decode(String.self, [UInt8].self).first else { return nil }
    guard let bytes = seal.open(sealed, for: id) else { throw Self.sealedOtherwise }
    return SigningKey(id: id, key: try Ed25519PrivateKey(bytes))
  }

  /// Of several concurrent calls, only one adds its key.
  private func add(in transaction: PostgresTransaction) async throws -> String {
    let key = try Ed25519PrivateKey()
    let id = String(Base64URL.text(SHA256.hash(of: key.publicKey.bytes)).prefix(10))
    try await transaction.execute(
      """
      INSERT INTO signing_keys (id, public_key, sealed_key, is_current)
      VALUES (\(id), \(key.publicKey.bytes), \(try seal.seal(key.bytes, for: id)), true)
      ON CONFLICT (is_current) WHERE is_current DO NOTHING
      """)
    return id
  }

  private static let sealedOtherwise = SocialError(
    .certificatesOff,
    "the signing key was sealed with another FANMILL_CERTIFICATE_KEY: the operator must create a new one with "
      + "'fanmill certificates rotate'")
}
