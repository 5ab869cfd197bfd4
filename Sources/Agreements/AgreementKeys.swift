import Crypto
import Foundation

/// A device's role in a meeting.
public enum AgreementRole: UInt8, Sendable, Hashable, CaseIterable {
  /// Shows the code.
  case host = 1
  /// Types the code.
  case joiner = 2

  public var peer: AgreementRole { self == .host ? .joiner : .host }
}

/// A device's keys for one agreement: one for key agreement, one for signing.
public struct AgreementKeys: Sendable {
  static let nonceCount = 32

  let agreement: Curve25519.KeyAgreement.PrivateKey
  let signing: Curve25519.Signing.PrivateKey
  /// Secret until the peer has sent its commitment too.
  let nonce: [UInt8]

  public init() {
    agreement = Curve25519.KeyAgreement.PrivateKey()
    signing = Curve25519.Signing.PrivateKey()
    var generator = SystemRandomNumberGenerator()
    nonce = (0..<Self.nonceCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  /// Fixed keys, for test vectors.
  init(agreement: [UInt8], signing: [UInt8], nonce: [UInt8]) throws {
    self.agreement = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: agreement)
    self.signing = try Curve25519.Signing.PrivateKey(rawRepresentation: signing)
    self.nonce = nonce
  }

  /// Both public keys, 64 bytes: sent to the server as `publicKey`.
  public var publicKey: AgreementPublicKey {
    AgreementPublicKey(agreement: agreement.publicKey, signing: signing.publicKey)
  }

  /// The `commitment` sent to the server: 32 bytes that reveal nothing about the nonce, and bind the device to it.
  public func commitment(as role: AgreementRole) -> [UInt8] {
    Self.commitment(to: publicKey, nonce, as: role)
  }

  static func commitment(to key: AgreementPublicKey, _ nonce: [UInt8], as role: AgreementRole) -> [UInt8] {
    Digest.of("fanmill agreement commitment 1", [role.rawValue], key.bytes, nonce)
  }
}

extension AgreementKeys: CustomStringConvertible, CustomReflectable {
  /// Omits the keys: descriptions end up in logs.
  public var description: String { "keys of an agreement" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public halves of `AgreementKeys`.
public struct AgreementPublicKey: Sendable {
  /// The length of both keys, in bytes.
  public static let byteCount = 64

  let agreement: Curve25519.KeyAgreement.PublicKey
  let signing: Curve25519.Signing.PublicKey

  init(agreement: Curve25519.KeyAgreement.PublicKey, signing: Curve25519.Signing.PublicKey) {
    self.agreement = agreement
    self.signing = signing
  }

  /// - Throws: `malformed` for anything but two keys.
  public init(_ bytes: [UInt8]) throws(AgreementError) {
    guard bytes.count == Self.byteCount else { throw AgreementError(.malformed, "a public key must have 64 bytes") }
    do {
      agreement = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: bytes.prefix(32))
      signing = try Curve25519.Signing.PublicKey(rawRepresentation: bytes.suffix(32))
    } catch {
      throw AgreementError(.malformed, "the public key is not on the curve")
    }
  }

  public var bytes: [UInt8] { Array(agreement.rawRepresentation) + Array(signing.rawRepresentation) }
}

/// SHA-256 over a label and parts of known lengths; each label is unique to one digest.
enum Digest {
  static func of(_ label: String, _ parts: [UInt8]...) -> [UInt8] {
    var hash = SHA256()
    hash.update(data: Array(label.utf8) + [0])
    for part in parts { hash.update(data: part) }
    return Array(hash.finalize())
  }
}
