import Crypto
import CryptoExtras
import Foundation

/// Locks the keys of an owner's copies with a passcode, in case a device is lost.
///
/// A passcode has few possible values, so the lock also needs a secret that the server releases only for the right
/// passcode. The server counts every attempt before checking it, and destroys the backup after ten wrong ones. Its
/// database does not contain the secret.
public struct PasscodeLock: Sendable {
  /// Random bytes stored with the backup.
  public let salt: [UInt8]
  /// Proves to the server that the passcode is right; 32 bytes.
  public let proof: [UInt8]
  private let half: [UInt8]

  /// Derives the lock's keys, which takes a tenth of a second and 32 MB of memory.
  ///
  /// - Parameter salt: the backup's salt; nil for a new one.
  /// - Throws: `malformed` for a passcode of fewer than 4 characters.
  public init(passcode: String, salt: [UInt8]? = nil) throws(AgreementError) {
    guard passcode.count >= 4 else { throw AgreementError(.malformed, "a passcode must have at least 4 characters") }
    var generator = SystemRandomNumberGenerator()
    let salt = salt ?? (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let stretched: [UInt8]
    do {
      let key = try KDF.Scrypt.deriveKey(
        from: Array(passcode.precomposedStringWithCompatibilityMapping.utf8), salt: salt, outputByteCount: 64,
        rounds: 1 << 15, blockSize: 8, parallelism: 1)
      stretched = key.withUnsafeBytes { Array($0) }
    } catch {
      throw AgreementError(.malformed, "no key can be derived from the passcode")
    }
    self.salt = salt
    proof = Array(stretched.prefix(32))
    half = Array(stretched.suffix(32))
  }

  /// - Parameter secret: the server's secret, 32 bytes.
  public func lock(_ keys: [UInt8], with secret: [UInt8]) throws(AgreementError) -> [UInt8] {
    do {
      guard let sealed = try AES.GCM.seal(keys, using: key(secret), authenticating: salt).combined else {
        throw AgreementError(.malformed, "the keys cannot be locked")
      }
      return Array(sealed)
    } catch {
      throw AgreementError(.malformed, "the keys cannot be locked")
    }
  }

  /// - Throws: `locked` for a wrong passcode or secret, or a modified backup.
  public func open(_ locked: [UInt8], with secret: [UInt8]) throws(AgreementError) -> [UInt8] {
    do {
      return Array(
        try AES.GCM.open(AES.GCM.SealedBox(combined: locked), using: key(secret), authenticating: salt))
    } catch {
      throw AgreementError(.locked, "the passcode is wrong, or the backup was changed")
    }
  }

  private func key(_ secret: [UInt8]) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: half + secret), salt: salt,
      info: Array("fanmill agreement backup 1".utf8), outputByteCount: 32)
  }
}

extension PasscodeLock: CustomStringConvertible, CustomReflectable {
  /// Omits the derived keys: descriptions end up in logs.
  public var description: String { "a passcode's lock" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
