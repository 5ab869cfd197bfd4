import Foundation

/// A chart as server-rendered SVG: a drawing without text, which stretches to its container, and around it labels
/// and a table with the same figures.
struct Chart: Sendable {
  /// The values at one time, in the order of the series.
  struct Column: Sendable {
    let at: Date
    let values: [Double]
  }

  /// A series; several are stacked.
  struct Series: Sendable {
    let name: String
    /// The series' class in the style sheet.
    let style: String
  }

  /// A row of the table.
  struct Row: Sendable {
    let time: String
    let cells: [String]
  }

  /// An entry of the legend.
  struct Key: Sendable {
    let name: String
    let style: String
  }

  let id: String
  let title: String
  /// A one-sentence description for screen readers.
  let summary: String
  /// The label of the upper edge.
  let top: String
  let svg: String
  /// The times at the left edge, the middle and the right edge.
  let from: String
  let middle: String
  let to: String
  let keys: [Key]
  let names: [String]
  let rows: [Row]

  static let (width, height) = (600.0, 120.0)
  /// The most rows in the table; columns are summed to fit.
  private static let maxRows = 24

  /// - Parameters:
  ///   - isArea: draws a single series as a line with its area filled; otherwise as bars.
  ///   - unit: the unit of the upper edge's label.
  init(
    id: String, title: String, unit: String, _ series: [Series], _ columns: [Column], isArea: Bool, span: TimeInterval
  ) {
    self.id = id
    self.title = title
    let largest = columns.map { $0.values.reduce(0, +) }.max() ?? 0
    let edge = Self.edge(above: largest)
    top = "\(PageFormat.rate(edge)) \(unit)"
    let totals = series.indices.map { index in columns.reduce(0) { $0 + $1.values[index] } }
    let mean = columns.isEmpty ? 0 : totals.reduce(0, +) / Double(columns.count)
    summary =
      columns.isEmpty || largest == 0
      ? "Nothing in this period."
      : "On average \(PageFormat.rate(mean)) \(unit), at most \(PageFormat.rate(largest)) \(unit)."
    keys = series.count > 1 ? series.map { Key(name: $0.name, style: $0.style) } : []
    names = series.map(\.name)
    let drawing =
      isArea ? Self.area(columns, edge, series[0].style) : Self.bars(columns, edge, series.map(\.style))
    svg = """
      <svg class="chart" viewBox="0 0 600 120" preserveAspectRatio="none" role="img" \
      aria-labelledby="\(id)-title \(id)-desc" focusable="false"><title id="\(id)-title">\(title.escaped)</title>\
      <desc id="\(id)-desc">\(summary.escaped)</desc>\(Self.grid)\(drawing)</svg>
      """
    let label = { (date: Date) -> String in
      let text = PageMoment(date, now: date).text
      return span > 86_400 ? String(text.dropFirst(5).prefix(11)) : String(text.dropFirst(11).prefix(5))
    }
    from = columns.first.map { label($0.at) } ?? ""
    middle = columns.isEmpty ? "" : label(columns[columns.count / 2].at)
    to = columns.last.map { label($0.at) } ?? ""
    let step = max(1, (columns.count + Self.maxRows - 1) / Self.maxRows)
    rows = stride(from: 0, to: columns.count, by: step).map { start in
      let part = columns[start..<min(start + step, columns.count)]
      return Row(
        time: label(part[start].at),
        cells: series.indices.map { index in
          PageFormat.rate(part.reduce(0) { $0 + $1.values[index] } / Double(part.count))
        })
    }.reversed()
  }

  /// The smallest of 1, 2, 5, 10, 20 … that no value exceeds.
  static func edge(above largest: Double) -> Double {
    guard largest > 1 else { return 1 }
    let power = pow(10, floor(log10(largest)))
    return [1, 2, 5, 10].map { $0 * power }.first { $0 >= largest } ?? largest
  }

  private static let grid = [0, 60, 120].map { #"<path class="grid" d="M0 \#($0)H600"/>"# }.joined()

  private static func area(_ columns: [Column], _ edge: Double, _ style: String) -> String {
    guard columns.count > 1 else { return "" }
    let step = width / Double(columns.count - 1)
    let points = columns.enumerated().map { index, column in
      "\(short(Double(index) * step)) \(short(height * (1 - column.values[0] / edge)))"
    }
    let line = "M" + points.joined(separator: "L")
    return #"<path class="area \#(style)" d="\#(line)L600 120L0 120Z"/><path class="line \#(style)" d="\#(line)"/>"#
  }

  private static func bars(_ columns: [Column], _ edge: Double, _ styles: [String]) -> String {
    let step = width / Double(max(1, columns.count))
    var drawing = ""
    for (index, column) in columns.enumerated() {
      var bottom = height
      for (value, style) in zip(column.values, styles) where value > 0 {
        // A value above zero is always visible.
        let size = max(2, height * value / edge)
        drawing += """
          <rect class="\(style)" x="\(short(Double(index) * step + step * 0.1))" y="\(short(max(0, bottom - size)))" \
          width="\(short(step * 0.8))" height="\(short(size))"/>
          """
        bottom -= size
      }
    }
    return drawing
  }

  private static func short(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
  }
}
