import Mustache

/// Text as the templates escape it, scalar by scalar.
///
/// Their own way goes by characters, as Swift counts these: a quotation mark with a combining accent behind it is
/// another character to Swift, would go through, and is a quotation mark to a browser.
struct MarkupText: MustacheContentType {
  private static let name = "DURABLE_JOBS_DASHBOARD"

  /// The line with which every template begins: without it, its text would be escaped by the templates' own way.
  static let pragma = "{{% CONTENT_TYPE:\(name)}}\n"

  /// To be called before templates are read. Once is enough, and more is no harm.
  static func register() { MustacheContentTypes.register(MarkupText(), named: name) }

  func escapeText(_ text: String) -> String { text.escaped }
}

extension String {
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
