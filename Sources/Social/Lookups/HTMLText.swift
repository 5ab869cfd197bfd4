/// Converts text that contains HTML to plain text.
enum HTMLText {
  private static let named: [String: Character] = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}", "#x27": "'",
  ]

  /// `text` with its character references replaced, once: `&amp;lt;` becomes `&lt;`. Anything else stays.
  static func unescaped(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
    var result = ""
    result.reserveCapacity(text.utf8.count)
    var rest = text[...]
    while let ampersand = rest.firstIndex(of: "&") {
      result += rest[..<ampersand]
      let after = rest[rest.index(after: ampersand)...]
      // The longest supported reference has nine characters between its ends.
      if let end = after.prefix(10).firstIndex(of: ";"), let character = character(String(after[..<end])) {
        result.append(character)
        rest = after[after.index(after: end)...]
      } else {
        result.append("&")
        rest = after
      }
    }
    return result + rest
  }

  private static func character(_ name: String) -> Character? {
    if let character = named[name.lowercased()] { return character }
    guard name.hasPrefix("#") else { return nil }
    let digits = name.dropFirst()
    let isHex = digits.first == "x" || digits.first == "X"
    guard digits.first != "+", digits.dropFirst().first != "+",
      let value = UInt32(isHex ? digits.dropFirst() : digits, radix: isHex ? 16 : 10),
      value != 0, let scalar = Unicode.Scalar(value)
    else { return nil }
    return Character(scalar)
  }

  /// A message on one line for display: tags removed, references replaced.
  static func plain(_ html: String, limit: Int = 500) -> String {
    var text = ""
    var isTag = false
    for character in html {
      switch character {
      case "<": isTag = true
      case ">" where isTag: isTag = false
      default: if !isTag { text.append(character) }
      }
    }
    return String(
      unescaped(text).split { $0.isWhitespace || $0 == "\0" }.joined(separator: " ").prefix(limit))
  }
}
