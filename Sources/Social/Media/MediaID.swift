import Cryptography
import Foundation

/// A picture's name in URLs: 128 random bits as 22 characters of Base64url, so that it cannot be guessed.
public struct MediaID: Sendable, Hashable, CustomStringConvertible {
  public let text: String

  /// A new random id.
  init() {
    text = Data([UInt8].random(count: 16)).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// nil if the text cannot be an id.
  public init?(_ text: String) {
    let isPlain = text.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D || byte == 0x5F
    }
    guard text.utf8.count == 22, isPlain else { return nil }
    self.text = text
  }

  public var description: String { text }
}
