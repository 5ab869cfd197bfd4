import Mustache

/// Text escaped for the templates, scalar by scalar.
///
/// The templates' own escaping goes by Swift characters. A quotation mark followed by a combining accent is another
/// character to Swift and would pass unescaped, but is a quotation mark to a browser.
struct MarkupText: MustacheContentType {
  private static let name = "DURABLE_JOBS_DASHBOARD"

  /// The first line of every template: without it, the text would get the templates' own escaping.
  static let pragma = "{{% CONTENT_TYPE:\(name)}}\n"

  /// Must be called before templates are read. Repeated calls are harmless.
  static func register() { MustacheContentTypes.register(MarkupText(), named: name) }

  func escapeText(_ text: String) -> String { text.escaped }
}

extension String {
  /// The text escaped for HTML and SVG, between tags and in attributes.
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
