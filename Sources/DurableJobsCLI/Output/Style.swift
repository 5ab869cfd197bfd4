/// A text style for terminals with colours.
package enum Style: String, Sendable {
  case bold = "1"
  case dim = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
  case cyan = "36"
  case reversed = "7"

  /// Wraps the text in "select graphic rendition" and its reset (ECMA-48, SGR).
  package func paint(_ text: String, isColored: Bool) -> String {
    isColored ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }

  /// The colour of a state's name; none for a normal state.
  package static func ofState(_ word: String) -> Style? {
    switch word {
    case "dead", "fail", "failed", "lost", "wrong", "disabled": .red
    case "retrying", "parked", "paused", "warn", "overdue", "quiet", "stopping", "pending", "unknown": .yellow
    case "ok", "active", "done", "running", "exact": .green
    case "cancelled", "deleted", "discarded", "replaced": .dim
    default: nil
    }
  }
}
