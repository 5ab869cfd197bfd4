import Cryptography
import Foundation

/// A client's proof of identity: 32 random bytes in Base64url. The database stores only its hash. Because the token is
/// random, a plain SHA-256 is enough.
public struct SessionToken: Sendable, Hashable {
  /// The token's text form, 43 characters.
  public let text: String

  /// A new random token.
  public init() {
    text = Base64URL.text([UInt8].random(count: 32))
  }

  /// Parses a token from a client; nil if the text cannot be one.
  public init?(_ text: String) {
    let isPlain = text.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x5F
    }
    guard text.utf8.count == 43, isPlain else { return nil }
    self.text = text
  }

  var hash: [UInt8] { SHA256.hash(of: text.utf8) }
}
