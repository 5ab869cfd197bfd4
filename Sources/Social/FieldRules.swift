/// The rules for user input. Each rule throws an error that names the field and states what is valid.
enum FieldRules {
  static let longestUsername = 100

  static func username(_ text: String) throws(SocialError) {
    guard isUsername(text.utf8) else {
      throw .invalid(
        "username", "must have 1 to 100 letters (a–z), digits, '.', '_', '-' or '+', and begin with a letter or a digit"
      )
    }
  }

  /// Whether `text` could be a username.
  static func isUsername(_ text: some Collection<UInt8>) -> Bool {
    guard let first = text.first, isLetterOrDigit(first), text.count <= longestUsername else { return false }
    return text.allSatisfy { isLetterOrDigit($0) || $0 == 0x2E || $0 == 0x5F || $0 == 0x2D || $0 == 0x2B }
  }

  static func email(_ text: String) throws(SocialError) {
    // Only a mail can prove that an address exists; this refuses texts that cannot be one.
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    let isClean = text.unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0.value >= 0x20 && $0.value != 0x7F }
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty, isClean, text.unicodeScalars.count <= 254 else {
      throw .invalid("email", "must be an address such as ann@example.org, of at most 254 characters")
    }
  }

  static func password(_ text: String, _ field: String = "password") throws(SocialError) {
    guard text.unicodeScalars.count >= 8, text.utf8.count <= 1024 else {
      throw SocialError(
        .invalid(field), "\(field) must have at least 8 characters and at most 1,024 bytes", field: field)
    }
  }

  /// Text that an account publishes: 1 to 2,000 characters, not all of them spaces.
  static func said(_ text: String) throws(SocialError) {
    try self.text(text, "text", 1...2000)
    if text.allSatisfy(\.isWhitespace) { throw .invalid("text", "must not be blank") }
  }

  /// The most Unicode scalars per character; a family emoji has eleven.
  private static let longestCharacter = 16

  /// Text shown on a line with other text, which stacked combining marks must not cover.
  static func line(_ text: String?, _ field: String, _ lengths: ClosedRange<Int>) throws(SocialError) {
    try self.text(text, field, lengths)
    if let text, text.contains(where: { $0.unicodeScalars.count > longestCharacter }) {
      throw .invalid(field, "must have characters of at most \(longestCharacter) code points: remove some marks")
    }
  }

  /// Text whose length is counted in Unicode scalars, as Postgres does. It cannot contain NUL, which Postgres cannot
  /// store.
  static func text(_ text: String?, _ field: String, _ lengths: ClosedRange<Int>) throws(SocialError) {
    guard let text else { return }
    guard lengths.contains(text.unicodeScalars.count) else {
      throw .invalid(
        field,
        lengths.lowerBound == 0
          ? "must have at most \(lengths.upperBound) characters"
          : "must have \(lengths.lowerBound) to \(lengths.upperBound) characters")
    }
    guard !text.utf8.contains(0) else { throw .invalid(field, "must not contain the character U+0000") }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
  }
}
