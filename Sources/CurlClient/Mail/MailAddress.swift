/// A mail address, such as `ann@example.org`, that is safe to write into a command to a server or the head of a mail.
public struct MailAddress: Sendable, Hashable {
  public let text: String

  /// The text after the `@`.
  public var domain: Substring { text[text.index(after: text.lastIndex(of: "@") ?? text.startIndex)...] }

  /// Accepts the plain form (`Dot-string@Domain` of RFC 5321, with RFC 6531's letters of all languages), but not the
  /// quoted form, which allows spaces and other characters.
  ///
  /// - Throws: `.invalid`.
  public init(_ text: String) throws(MailError) {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, text.utf8.count <= 254, Self.isDotted(parts[0], Self.isLocal),
      Self.isDotted(parts[1], Self.isDomain)
    else { throw MailError(.invalid, "not an email address such as ann@example.org") }
    self.text = text
  }

  /// Whether the text consists of dot-separated, non-empty parts.
  private static func isDotted(_ text: Substring, _ isPart: (Unicode.Scalar) -> Bool) -> Bool {
    text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
      !part.isEmpty && part.unicodeScalars.allSatisfy(isPart)
    }
  }

  private static func isLocal(_ scalar: Unicode.Scalar) -> Bool {
    isDomain(scalar) || "!#$%&'*+/=?^_`{|}~".unicodeScalars.contains(scalar)
  }

  private static func isDomain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-": true
    default:
      scalar.value >= 0x80 && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
    }
  }
}
