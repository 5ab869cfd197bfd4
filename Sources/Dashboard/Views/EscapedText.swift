import Mustache

/// Text as the templates get it.
///
/// They escape `<`, `>`, `&`, `"` and `'` by characters, as Swift counts these: a quotation mark with a combining
/// accent behind it is another character to Swift, and goes through, and is a quotation mark to a browser. So the two
/// are parted, with a word joiner that takes no room (U+2060, with which no character goes on).
extension String: @retroactive MustacheCustomRepresentation {
  public var representation: Any? { markupParted }

  var markupParted: String {
    // What goes on with a character is never ASCII.
    if utf8.allSatisfy({ $0 < 0x80 }) { return self }
    var parted = ""
    parted.reserveCapacity(utf8.count)
    var isAfterMarkup = false
    for scalar in unicodeScalars {
      if isAfterMarkup, scalar.value >= 0x80 { parted.unicodeScalars.append("\u{2060}") }
      parted.unicodeScalars.append(scalar)
      isAfterMarkup = Self.markup.contains(scalar)
    }
    return parted
  }

  private static let markup: Set<Unicode.Scalar> = ["<", ">", "&", "\"", "'"]

  /// The text as it stands in HTML and SVG, between tags and in attributes.
  var escaped: String {
    var escaped = ""
    escaped.reserveCapacity(utf8.count)
    for scalar in unicodeScalars {
      switch scalar {
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "&": escaped += "&amp;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
