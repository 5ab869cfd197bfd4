import Cryptography

/// Decodes the bytes that clients send for agreements: Base64url without padding (RFC 4648, section 5).
public enum AgreementBytes {
  /// - Throws: `invalid_FIELD` for a wrong alphabet or length.
  public static func read(
    _ text: String, _ field: String, _ lengths: ClosedRange<Int>
  ) throws(SocialError) -> [UInt8] {
    // Far too long a text is rejected without decoding it.
    guard text.utf8.count <= lengths.upperBound * 4 / 3 + 4, let bytes = Base64URL.bytes(text),
      lengths.contains(bytes.count)
    else {
      let count =
        lengths.lowerBound == lengths.upperBound
        ? "\(lengths.lowerBound)" : "\(lengths.lowerBound) to \(lengths.upperBound)"
      throw .invalid(field, "must be \(count) bytes in URL-safe Base64, without padding")
    }
    return bytes
  }
}
