/// A terminal emulator sufficient for the CLI's screens: text, line ends, and the control sequences they use (ECMA-48).
struct TerminalScreen: Sendable {
  private var columns: Int
  private var rows: Int
  private var cells: [[Character]]
  private var row = 0
  private var column = 0
  private var wraps = true
  private var rest: [UInt8] = []
  /// Whether the alternate screen is shown, and whether the cursor is visible.
  private(set) var isAlternate = false
  private(set) var isCursorShown = true
  /// Control sequences that this emulator does not know.
  private(set) var unknown: [String] = []
  /// Whether any colour was used.
  private(set) var hasColors = false

  init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
    cells = []
    clear()
  }

  /// The visible lines, without trailing spaces.
  var lines: [String] {
    cells.map { line in
      var text = String(line.filter { $0 != "\0" })
      while text.last == " " { text.removeLast() }
      return text
    }
  }

  var text: String { lines.joined(separator: "\n") }

  mutating func resize(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
    clear()
  }

  mutating func take(_ bytes: some Sequence<UInt8>) {
    rest += bytes
    // An incomplete sequence waits for its rest.
    while let length = next() { rest.removeFirst(length) }
  }

  /// Consumes one character or sequence; nil if it is incomplete.
  private mutating func next() -> Int? {
    guard let byte = rest.first else { return nil }
    if byte == 0x1B { return sequence() }
    let length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
    guard rest.count >= length else { return nil }
    switch byte {
    case 0x0D: column = 0
    case 0x0A:
      row += 1
      if row == rows {
        cells.removeFirst()
        cells.append(blank)
        row = rows - 1
      }
    case 0x20...: put(Character(String(decoding: rest.prefix(length), as: UTF8.self)))
    default: break
    }
    return length
  }

  private mutating func put(_ character: Character) {
    let width =
      character.unicodeScalars.first.map { 0x1100...0x115F ~= $0.value || 0xAC00...0xD7A3 ~= $0.value } == true ? 2 : 1
    if column + width > columns {
      guard wraps else { return }
      column = 0
      row = min(row + 1, rows - 1)
    }
    cells[row][column] = character
    if width == 2 { cells[row][column + 1] = "\0" }
    column += width
  }

  private mutating func sequence() -> Int? {
    guard rest.count >= 2 else { return nil }
    guard rest[1] == UInt8(ascii: "[") else {
      unknown.append(String(decoding: rest.prefix(2), as: UTF8.self))
      return 2
    }
    guard let end = rest.dropFirst(2).firstIndex(where: { 0x40...0x7E ~= $0 }) else { return nil }
    let parameters = String(decoding: rest[2..<end], as: UTF8.self)
    switch (parameters, rest[end]) {
    case ("", UInt8(ascii: "H")): (row, column) = (0, 0)
    case ("", UInt8(ascii: "K")): for place in column..<max(column, columns) { cells[row][place] = " " }
    case ("", UInt8(ascii: "J")):
      for place in min(column, columns)..<columns { cells[row][place] = " " }
      for line in (row + 1)..<max(row + 1, rows) { cells[line] = blank }
    case ("2", UInt8(ascii: "J")): clear()
    case ("?1049", UInt8(ascii: "h")):
      isAlternate = true
      clear()
    case ("?1049", UInt8(ascii: "l")):
      isAlternate = false
      clear()
    case ("?25", UInt8(ascii: "l")): isCursorShown = false
    case ("?25", UInt8(ascii: "h")): isCursorShown = true
    case ("?7", UInt8(ascii: "l")): wraps = false
    case ("?7", UInt8(ascii: "h")): wraps = true
    case (_, UInt8(ascii: "m")): if !["", "0", "1", "2", "7"].contains(parameters) { hasColors = true }
    default: unknown.append(String(decoding: rest[...end], as: UTF8.self))
    }
    return end + 1
  }

  private var blank: [Character] { [Character](repeating: " ", count: columns) }

  private mutating func clear() {
    cells = [[Character]](repeating: blank, count: rows)
    (row, column) = (0, 0)
  }
}
