import Cryptography
import Foundation

/// Signs and checks certificates as versions before 0.1 gave them out: HMAC with SHA-256 (RFC 2104) over what the
/// certificate says.
///
/// A token is what it says, in JSON, and the signature, each in Base64 for URLs without padding, with a dot between.
public struct CertificateKey: Sendable {
  /// The fewest characters that a key has.
  public static let shortest = 32

  private let key: HMACSHA256

  /// - Parameter text: at least `shortest` characters that nobody else knows.
  public init(_ text: String) { key = HMACSHA256(key: text.utf8) }

  /// The certificate as text that nobody can make or change without the key.
  public func token(for certificate: FanCertificate) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .secondsSince1970
    let content = Array(try encoder.encode(certificate))
    return Base64URL.text(content) + "." + Base64URL.text(key.code(for: content))
  }

  /// What a token says. Signatures are compared in a time that does not depend on where they differ.
  ///
  /// - Throws: `malformed_certificate` for what is no token, `forged_certificate` for one that was not signed with this
  ///   key.
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
    .forgedCertificate, "the certificate was not signed here, or was changed since")
  static let malformed = SocialError(.malformedCertificate, "this is no certificate: it may have been cut off")
}
