import Cryptography
import Foundation

/// Signs and verifies certificates in the format of versions before 0.1: HMAC with SHA-256 (RFC 2104) over the
/// certificate's content.
///
/// A token is the content, in JSON, and the signature, each in Base64url without padding, joined by a dot.
public struct CertificateKey: Sendable {
  /// The minimum length of a key, in characters.
  public static let shortest = 32

  private let key: HMACSHA256

  /// - Parameter text: at least `shortest` characters, kept secret.
  public init(_ text: String) { key = HMACSHA256(key: text.utf8) }

  /// The certificate as a token that cannot be forged or changed without the key.
  public func token(for certificate: FanCertificate) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .secondsSince1970
    let content = Array(try encoder.encode(certificate))
    return Base64URL.text(content) + "." + Base64URL.text(key.code(for: content))
  }

  /// The certificate in a token. Signatures are compared in constant time.
  ///
  /// - Throws: `malformed_certificate` if the text is not a token, `forged_certificate` if another key signed it.
  public func certificate(_ token: String) throws(SocialError) -> FanCertificate {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard token.utf8.count <= 2048, parts.count == 2, let content = Base64URL.bytes(parts[0]),
      let signature = Base64URL.bytes(parts[1]), signature.count == HMACSHA256.byteCount
    else { throw Self.malformed }
    guard key.isValid(signature, for: content) else {
      throw Self.forged
    }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    do {
      return try decoder.decode(FanCertificate.self, from: Data(content))
    } catch {
      throw Self.malformed
    }
  }

  static let forged = SocialError(
    .forgedCertificate, "this server did not sign the certificate, or it was changed afterwards")
  static let malformed = SocialError(.malformedCertificate, "this is not a certificate: it may be truncated")
}
