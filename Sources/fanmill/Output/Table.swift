import Foundation

/// Rows under headings, for people.
struct Table {
  struct Column {
    let title: String
    let isNumber: Bool
    /// Whether it may be cut off where the terminal is narrow.
    let isElastic: Bool

    static func text(_ title: String) -> Column { Column(title: title, isNumber: false, isElastic: false) }
    static func number(_ title: String) -> Column { Column(title: title, isNumber: true, isElastic: false) }
    static func elastic(_ title: String) -> Column { Column(title: title, isNumber: false, isElastic: true) }
  }

  let columns: [Column]
  let rows: [[String]]

  /// - Parameter rows: a cell for each column.
  init(_ columns: [Column], rows: [[String]]) {
    self.columns = columns
    // A cell is one line, whatever an error or a key holds.
    self.rows = rows.map { row in row.map { $0.replacing(/[\p{Cc}]+/, with: " ") } }
  }

  /// - Parameter width: the columns of the terminal; nil for no limit.
  func text(width: Int?) -> String {
    var widths = columns.indices.map { index in
      ([columns[index].title] + rows.map { $0[index] }).map(\.count).max() ?? 0
    }
    if let width, let excess = Optional(widths.reduce(0, +) + 2 * (widths.count - 1) - width), excess > 0 {
      let elastic = columns.indices.filter { columns[$0].isElastic }
      if let widest = elastic.max(by: { widths[$0] < widths[$1] }) { widths[widest] = max(8, widths[widest] - excess) }
    }
    return ([columns.map(\.title)] + rows).map { cells in
      let line = zip(columns.indices, cells).map { index, cell in
        fit(cell, widths[index], isRight: columns[index].isNumber)
      }.joined(separator: "  ")
      return line.replacing(/\ +$/, with: "")
    }.joined(separator: "\n")
  }

  private func fit(_ text: String, _ width: Int, isRight: Bool) -> String {
    if text.count > width { return text.prefix(max(0, width - 1)) + "…" }
    let space = String(repeating: " ", count: width - text.count)
    return isRight ? space + text : text + space
  }
}

extension Int {
  /// With a comma after the thousands.
  var grouped: String {
    var digits = String(magnitude)
    var text = ""
    while digits.count > 3 {
      text = "," + digits.suffix(3) + text
      digits.removeLast(3)
    }
    return (self < 0 ? "-" : "") + digits + text
  }
}

extension Date {
  /// In UTC, to the second.
  var short: String { formatted(.iso8601) }
}
