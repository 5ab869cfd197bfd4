import Foundation

/// A point on a sheet. Both coordinates are in widths of the sheet: the left edge is 0, the right edge 1.
struct PrintPoint: Sendable, Hashable {
  var x: Double
  var y: Double

  init(_ x: Double, _ y: Double) {
    self.x = x
    self.y = y
  }

  /// The point at an angle, in turns clockwise from the right, and a distance from this one.
  func moved(_ distance: Double, _ turns: Double) -> PrintPoint {
    PrintPoint(x + distance * cos(turns * 2 * .pi), y + distance * sin(turns * 2 * .pi))
  }
}

/// How much ink a shape takes, from 0 to 1, where.
enum PrintTone: Sendable {
  case flat(Double)
  /// From one tone at a point to another tone at another point, and the same beyond them.
  case linear(PrintPoint, Double, PrintPoint, Double)
  /// From a tone at the centre to another at the radius and beyond.
  case radial(PrintPoint, Double, radius: Double, Double)
}

/// A sheet printed as a risograph does: up to four transparent inks, each of which a pixel has or has not. Grain makes
/// the tones in between.
struct PrintSheet: Sendable {
  let width: Int
  let height: Int
  /// The height, in widths.
  var bottom: Double { Double(height) / Double(width) }
  /// By pixel, bit n for ink n.
  private var plates: [UInt8]

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
    plates = [UInt8](repeating: 0, count: width * height)
  }

  /// The sheet's own outline.
  var edge: [PrintPoint] {
    [PrintPoint(0, 0), PrintPoint(1, 0), PrintPoint(1, bottom), PrintPoint(0, bottom)]
  }

  // MARK: Printing

  /// Prints the inside of a closed outline, by the even-odd rule.
  ///
  /// - Parameter ink: 0 to 3.
  mutating func fill(_ outline: [PrintPoint], _ ink: Int, _ tone: PrintTone = .flat(1)) {
    let bit = UInt8(1) << UInt8(ink)
    var tones = ToneLine(tone, scale: Double(width))
    // Grains of different inks must not lie on one another.
    let offset = ink * 61
    for span in spans(outline) {
      let row = span.y * width
      tones.begin(span.y)
      let grain = ((span.y + offset * 3) & PrintGrain.mask) << PrintGrain.shift
      for x in span.columns where tones.at(x) > PrintGrain.thresholds[grain | ((x + offset) & PrintGrain.mask)] {
        plates[row + x] |= bit
      }
    }
  }

  /// Clears the inside of a closed outline down to the paper.
  mutating func clear(_ outline: [PrintPoint]) {
    for span in spans(outline) {
      for x in span.columns { plates[span.y * width + x] = 0 }
    }
  }

  private struct Span {
    let y: Int
    let columns: Range<Int>
  }

  /// The pixels inside an outline, by rows.
  private func spans(_ outline: [PrintPoint]) -> [Span] {
    let scale = Double(width)
    let corners = outline.map { (x: $0.x * scale, y: $0.y * scale) }
    guard let last = corners.last, let top = corners.map(\.y).min(), let end = corners.map(\.y).max() else { return [] }
    let first = min(max(0, Int(top)), height)
    var spans: [Span] = []
    var crossings: [Double] = []
    for y in first..<max(first, min(height, Int(end) + 1)) {
      // Rows are crossed in the middle of their pixels.
      let middle = Double(y) + 0.5
      crossings.removeAll(keepingCapacity: true)
      var from = last
      for to in corners {
        if (from.y <= middle) != (to.y <= middle) {
          crossings.append(from.x + (middle - from.y) / (to.y - from.y) * (to.x - from.x))
        }
        from = to
      }
      crossings.sort()
      for pair in stride(from: 0, to: crossings.count - 1, by: 2) {
        let start = Int(min(max(crossings[pair] + 0.5, 0), scale))
        let end = Int(min(max(crossings[pair + 1] + 0.5, 0), scale))
        if start < end { spans.append(Span(y: y, columns: start..<end)) }
      }
    }
    return spans
  }

  // MARK: Output

  /// How many pixels have an ink.
  func printed(_ ink: Int) -> Int { plates.count { $0 >> UInt8(ink) & 1 == 1 } }

  /// The sheet as a PNG of 16 colours.
  func png(_ palette: PrintPalette) -> [UInt8] {
    StoredPNG(width: width, height: height, palette: palette.overprints, indices: plates).bytes
  }
}

/// The tones of a row.
private struct ToneLine {
  private let tone: PrintTone
  private let scale: Double
  private var y = 0.0
  /// A linear tone at the row's left edge, and its change a pixel.
  private var (first, step) = (0.0, 0.0)

  init(_ tone: PrintTone, scale: Double) {
    self.tone = tone
    self.scale = scale
  }

  mutating func begin(_ row: Int) {
    y = Double(row) / scale
    guard case .linear(let start, let low, let end, let high) = tone else { return }
    let (dx, dy) = (end.x - start.x, end.y - start.y)
    let length = max(dx * dx + dy * dy, 1e-9)
    first = low + (high - low) * ((y - start.y) * dy - start.x * dx) / length
    step = (high - low) * dx / length / scale
  }

  func at(_ column: Int) -> Double {
    switch tone {
    case .flat(let tone): return tone
    case .linear(_, let low, _, let high):
      return min(max(first + step * Double(column), min(low, high)), max(low, high))
    case .radial(let center, let inner, let radius, let outer):
      let (dx, dy) = (Double(column) / scale - center.x, y - center.y)
      return inner + (outer - inner) * min(1, (dx * dx + dy * dy).squareRoot() / radius)
    }
  }
}

/// The thresholds at which pixels take ink: fine grain without a pattern that the eye finds.
private enum PrintGrain {
  static let shift = 8
  static let mask = 255

  /// Martin Roberts' R2 sequence, in steps of 1/256 so that it continues past the table's edge, spreads neighbours'
  /// thresholds evenly. Noise breaks up its lines.
  static let thresholds: [Double] = {
    var numbers = SeededNumbers(seed: 0x6772_6169)
    return (0..<(1 << (2 * shift))).map { index in
      let step: Int = (index & mask) * 193 + (index >> shift) * 146
      let place = Double(step & mask) / 256
      let even = place < 0.5 ? 2 * place : 2 - 2 * place
      return min(max(even + numbers.between(-0.16, 0.16), 0.002), 0.998)
    }
  }()
}
