import Cryptography
import Foundation

/// A signed text in the compact form of JWS (RFC 7515), parsed but not verified.
struct JSONWebSignature: Sendable {
  /// The algorithm's name by RFC 7518: `HS256`, `ES256`, `EdDSA`. The verifier must check that it is the expected one.
  let algorithm: String
  /// The type that the signer claims.
  let type: String?
  /// The name of the key.
  let keyID: String?
  /// Certificates in DER, each signed by the next.
  let chain: [[UInt8]]
  let payload: [UInt8]
  /// The signed bytes.
  let message: [UInt8]
  let signature: [UInt8]

  private struct Header: Decodable {
    var alg: String
    var typ: String?
    var kid: String?
    var x5c: [String]?
    /// Extensions that must be understood: none are supported.
    var crit: [String]?
  }

  /// Nil if the text is not a JWS, is longer than `limit` bytes, or requires an unsupported extension.
  init?(_ text: String, limit: Int) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= limit, parts.count == 3, let head = Base64URL.bytes(parts[0]),
      let payload = Base64URL.bytes(parts[1]), let signature = Base64URL.bytes(parts[2])
    else { return nil }
    let header: Header
    do { header = try JSONDecoder().decode(Header.self, from: Data(head)) } catch { return nil }
    // Certificates use standard Base64 (RFC 4648, section 4).
    let chain = (header.x5c ?? []).map { Data(base64Encoded: $0).map(Array.init) }
    guard header.crit == nil, chain.allSatisfy({ $0 != nil }) else { return nil }
    algorithm = header.alg
    type = header.typ
    keyID = header.kid
    self.chain = chain.compactMap(\.self)
    self.payload = payload
    self.signature = signature
    message = Array("\(parts[0]).\(parts[1])".utf8)
  }
}
