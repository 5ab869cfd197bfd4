import Foundation

/// Rows under headings, for people.
package struct Table {
  package struct Column: Sendable {
    /// The column's behavior on a narrow terminal.
    package enum Fit: Sendable {
      /// Never shortened: a truncated id cannot be copied.
      case whole
      /// Shortened last.
      case text
      /// Shortened first.
      case elastic
    }

    package let title: String
    package var isNumber = false
    package var fit = Fit.whole
    /// Whether the column is dropped before others are shortened to nothing.
    package var isExtra = false
    package var style: @Sendable (String) -> Style? = { _ in nil }

    package static func id(_ title: String = "id") -> Column { Column(title: title) }
    package static func text(_ title: String) -> Column { Column(title: title, fit: .text) }
    package static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
    package static func elastic(_ title: String) -> Column { Column(title: title, fit: .elastic) }
    /// A column of state names, in their colours.
    package static func state(_ title: String = "state") -> Column {
      Column(title: title, fit: .text, style: { Style.ofState($0) })
    }

    /// The same column, dropped where there is no room for it.
    package var extra: Column {
      var column = self
      column.isExtra = true
      return column
    }
  }

  package let columns: [Column]
  package let rows: [[String]]

  /// An elastic column keeps this width while another column can still be dropped.
  private static let comfortable = 16
  /// The minimum width of every column.
  private static let minimumWidth = 6

  /// - Parameter rows: a cell for each column.
  package init(_ columns: [Column], rows: [[String]]) {
    self.columns = columns
    // A cell is one line, whatever line breaks an error or a key contains.
    self.rows = rows.map { row in row.map(\.oneLine) }
  }

  /// - Parameter width: the terminal's columns; nil for no limit.
  package func text(width: Int?, isColored: Bool = false) -> String {
    lines(width: width, isColored: isColored).joined(separator: "\n")
  }

  package func text(on terminal: Terminal) -> String { text(width: terminal.columns, isColored: terminal.isColored) }

  /// The headings and the rows.
  package func lines(width: Int?, isColored: Bool) -> [String] {
    let shown = layout(width)
    let headings = line(columns.map(\.title), shown) { _, text in Style.bold.paint(text, isColored: isColored) }
    return [headings]
      + rows.map { cells in
        line(cells, shown) { index, text in
          guard let style = columns[index].style(cells[index]) else { return text }
          return style.paint(text, isColored: isColored)
        }
      }
  }

  private func line(
    _ cells: [String], _ shown: [(index: Int, width: Int)], _ paint: (Int, String) -> String
  ) -> String {
    var line = ""
    for (place, (index, width)) in shown.enumerated() {
      if place > 0 { line += "  " }
      let isLast = place == shown.count - 1
      // Omit trailing spaces.
      let text =
        isLast && !columns[index].isNumber
        ? cells[index].cut(to: width) : cells[index].fitted(to: width, isRight: columns[index].isNumber)
      line += paint(index, text)
    }
    return line.replacing(/\ +$/, with: "")
  }

  /// The visible columns and their widths.
  private func layout(_ width: Int?) -> [(index: Int, width: Int)] {
    let natural = columns.indices.map { index in
      rows.reduce(columns[index].title.columns) { max($0, $1[index].columns) }
    }
    var shown = Array(columns.indices)
    guard let width else { return shown.map { ($0, natural[$0]) } }
    while true {
      var widths = natural
      var excess = shown.reduce(0) { $0 + widths[$1] } + 2 * (shown.count - 1) - width
      func shrink(_ fit: Column.Fit, to floor: Int) {
        let narrowable = shown.filter { columns[$0].fit == fit }
        while excess > 0, let widest = narrowable.max(by: { widths[$0] < widths[$1] }), widths[widest] > floor {
          widths[widest] -= 1
          excess -= 1
        }
      }
      shrink(.elastic, to: Self.comfortable)
      if excess > 0, let extra = shown.lastIndex(where: { columns[$0].isExtra }) {
        shown.remove(at: extra)
        continue
      }
      shrink(.elastic, to: Self.minimumWidth)
      shrink(.text, to: Self.minimumWidth)
      // The first column, usually an id, stays; the last one is dropped.
      if excess > 0, shown.count > 2 {
        shown.removeLast()
        continue
      }
      return shown.map { ($0, widths[$0]) }
    }
  }
}
