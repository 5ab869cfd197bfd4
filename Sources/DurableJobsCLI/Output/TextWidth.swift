extension Unicode.Scalar {
  /// Whether a terminal uses two columns for it: East Asian wide and fullwidth characters, and emoji (Unicode, UAX
  /// #11).
  fileprivate var isWide: Bool {
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
      0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
      0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }

  fileprivate var isZeroWidth: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: true
    default: false
    }
  }
}

extension Character {
  /// The number of terminal columns that it takes.
  package var columns: Int {
    if let byte = asciiValue { return byte < 0x20 || byte == 0x7F ? 0 : 1 }
    return unicodeScalars.map { $0.isWide ? 2 : $0.isZeroWidth ? 0 : 1 }.max() ?? 0
  }
}

extension StringProtocol {
  /// The number of terminal columns that it takes.
  package var columns: Int {
    // Fast path: most text is ASCII, one column a byte.
    if utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return utf8.count }
    return reduce(0) { $0 + $1.columns }
  }

  /// The text on a single line: characters that would move a terminal's cursor become spaces.
  package var oneLine: String {
    if unicodeScalars.allSatisfy({ !Self.moves($0) }) { return String(self) }
    return String(self).replacing(/[\p{Cc}\u{2028}\u{2029}]+/, with: " ")
  }

  private static func moves(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar.value == 0x2028 || scalar.value == 0x2029
  }

  /// The text cut to a number of columns, with "…" where something is left out.
  package func cut(to width: Int) -> String {
    if columns <= width { return String(self) }
    var text = ""
    var used = 0
    for character in self {
      let columns = character.columns
      if used + columns > width - 1 { break }
      text.append(character)
      used += columns
    }
    return width > 0 ? text + "…" : ""
  }

  /// The text cut or padded to an exact number of columns.
  package func fitted(to width: Int, isRight: Bool = false) -> String {
    let text = cut(to: width)
    let space = String(repeating: " ", count: Swift.max(0, width - text.columns))
    return isRight ? space + text : text + space
  }
}
