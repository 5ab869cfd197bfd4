import CLibCrypto

/// Base64 with the alphabet for URLs and without padding (RFC 4648, 5).
public enum Base64URL {
  /// The encoded text: letters, digits, `-` and `_`.
  public static func text(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    var coded = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = EVP_EncodeBlock(&coded, bytes, Int32(bytes.count))
    let characters = coded.prefix(Int(count)).compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    return String(decoding: characters, as: UTF8.self)
  }

  /// nil for any text that `text` does not produce: each content has exactly one text.
  public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var coded = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    let padding = (4 - coded.count % 4) % 4
    guard padding < 3 else { return nil }
    coded += [UInt8](repeating: UInt8(ascii: "="), count: padding)
    var bytes = [UInt8](repeating: 0, count: coded.count / 4 * 3 + 1)
    let count = EVP_DecodeBlock(&bytes, coded, Int32(coded.count))
    guard Int(count) >= padding else { return nil }
    let decoded = Array(bytes.prefix(Int(count) - padding))
    // Rejects other characters, such as spaces, and surplus bits.
    return self.text(decoded) == text ? decoded : nil
  }
}
