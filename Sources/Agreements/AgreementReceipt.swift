import Crypto
import Foundation

/// The server's statement about an agreement: that both signed, when, and whether one of them has withdrawn. It proves
/// no consent, and contains nothing of the text.
///
/// A receipt is a JWS with Ed25519; its keys are at `/.well-known/jwks.json`.
public struct AgreementReceipt: Sendable, Hashable {
  public let id: Int
  /// In seconds since 1970.
  public let sealedAt: Int
  public let expiresAt: Int
  /// When one of the two withdrew; nil if neither had by `issuedAt`.
  public let withdrawnAt: Int?
  public let issuedAt: Int

  static let type = "agreement-receipt+jwt"

  private struct Header: Decodable {
    var alg: String
    var typ: String
    var kid: String
    var crit: [String]?
  }

  private struct Claims: Decodable {
    var agreement: Int
    var hash: String
    var hostKey: String
    var joinerKey: String
    var hostSignature: String
    var joinerSignature: String
    var sealedAt: Int
    var expiresAt: Int
    var withdrawnAt: Int?
    var iat: Int
  }

  /// Verifies a copy's receipt.
  ///
  /// - Parameters:
  ///   - keys: the server's public keys by id, 32 bytes each, fetched beforehand.
  ///   - copy: the copy that the receipt must belong to.
  /// - Throws: `malformed`; `forged` if the signature of a server key or of either party is missing; `differs` if it
  ///   belongs to another agreement.
  public init(_ token: String, keys: [String: [UInt8]], of copy: AgreementCopy) throws(AgreementError) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    let malformed = AgreementError(.malformed, "this is not a receipt of an agreement")
    guard token.utf8.count <= 4096, parts.count == 3, let head = Base64URL.bytes(parts[0]),
      let payload = Base64URL.bytes(parts[1]), let signature = Base64URL.bytes(parts[2])
    else { throw malformed }
    let header: Header
    do { header = try JSONDecoder().decode(Header.self, from: Data(head)) } catch { throw malformed }
    let forged = AgreementError(.forged, "the server has not signed this receipt")
    guard header.alg == "EdDSA", header.typ == Self.type, header.crit == nil, let bytes = keys[header.kid] else {
      throw forged
    }
    let key: Curve25519.Signing.PublicKey
    do { key = try Curve25519.Signing.PublicKey(rawRepresentation: bytes) } catch { throw forged }
    guard key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)) else { throw forged }
    let claims: Claims
    do { claims = try JSONDecoder().decode(Claims.self, from: Data(payload)) } catch { throw malformed }
    let record = try copy.record
    let said = [claims.hash, claims.hostKey, claims.joinerKey].map { Base64URL.bytes($0) }
    guard said == [try record.hash, Array(copy.hostKey), Array(copy.joinerKey)], claims.expiresAt == record.expiresAt
    else {
      throw AgreementError(.differs, "the receipt is for another agreement")
    }
    guard let hostSignature = Base64URL.bytes(claims.hostSignature),
      let joinerSignature = Base64URL.bytes(claims.joinerSignature)
    else { throw malformed }
    try copy.check(hostSignature: hostSignature, joinerSignature: joinerSignature)
    id = claims.agreement
    sealedAt = claims.sealedAt
    expiresAt = claims.expiresAt
    withdrawnAt = claims.withdrawnAt
    issuedAt = claims.iat
  }
}

/// Base64 with the alphabet for URLs and without padding (RFC 4648, 5).
enum Base64URL {
  static func text(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// nil for any text that `text` does not produce.
  static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    let plain = String(text).replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: plain + padding), self.text(Array(data)) == text else { return nil }
    return Array(data)
  }
}
