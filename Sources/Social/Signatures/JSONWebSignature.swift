import Cryptography
import Foundation

/// A signed text in the compact form of JWS (RFC 7515), taken apart; not checked yet.
struct JSONWebSignature: Sendable {
  /// The name of the algorithm by RFC 7518: `HS256`, `ES256`, `EdDSA`. Whoever checks says which one it has to be.
  let algorithm: String
  /// What it is, by its signer's word.
  let type: String?
  /// Which key, by its name.
  let keyID: String?
  /// Certificates in DER, each signed by the next.
  let chain: [[UInt8]]
  let payload: [UInt8]
  /// What was signed.
  let message: [UInt8]
  let signature: [UInt8]

  private struct Header: Decodable {
    var alg: String
    var typ: String?
    var kid: String?
    var x5c: [String]?
    /// What has to be understood: nothing is.
    var crit: [String]?
  }

  /// Nil for what is none, or is longer than `limit` bytes, or asks for what nobody here understands.
  init?(_ text: String, limit: Int) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= limit, parts.count == 3, let head = Base64URL.bytes(parts[0]),
      let payload = Base64URL.bytes(parts[1]), let signature = Base64URL.bytes(parts[2])
    else { return nil }
    let header: Header
    do { header = try JSONDecoder().decode(Header.self, from: Data(head)) } catch { return nil }
    // Certificates are in the Base64 of RFC 4648, 4.
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
