/// A text as a QR code (ISO/IEC 18004), in byte mode with error correction level M, which recovers from losing a
/// seventh of the code.
struct QRCode: Sendable {
  /// Modules per side, without the quiet zone of four around it.
  let size: Int
  private var isDark: [Bool]
  /// Modules that the standard assigns: finders, timing, alignment, format, version.
  private var isFixed: [Bool]

  /// The supported versions. The largest has 117 modules per side and holds up to 997 bytes.
  private static let versions = 1...25
  /// For each version: check bytes per block, and the number of blocks.
  private static let blocks: [(check: Int, count: Int)] = [
    (10, 1), (16, 1), (26, 1), (18, 2), (24, 2), (16, 4), (18, 4), (22, 4), (22, 5), (26, 5), (30, 5), (22, 8), (22, 9),
    (24, 9), (24, 10), (28, 10), (28, 11), (26, 13), (26, 14), (26, 16), (26, 17), (28, 17), (28, 18), (28, 20),
    (28, 21),
  ]

  /// - Returns: nil if the text is longer than 997 bytes.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard let version = Self.versions.first(where: { Self.capacity($0) >= bytes.count }) else { return nil }
    size = 4 * version + 17
    isDark = Array(repeating: false, count: size * size)
    isFixed = isDark
    drawFixed(version)
    draw(Self.codewords(bytes, version))
    // Chooses the mask with the fewest patterns that readers could misread.
    var best: (penalty: Int, code: QRCode)?
    for mask in 0..<8 {
      var masked = self
      masked.apply(mask)
      masked.drawFormat(mask)
      let penalty = masked.penalty
      if penalty < best?.penalty ?? .max { best = (penalty, masked) }
    }
    if let best { isDark = best.code.isDark }
  }

  subscript(row: Int, column: Int) -> Bool { isDark[row * size + column] }

  // MARK: Content

  /// The total number of data and check bytes.
  private static func byteCount(_ version: Int) -> Int {
    var modules = (16 * version + 128) * version + 64
    if version >= 2 {
      let marks = version / 7 + 2
      modules -= (25 * marks - 10) * marks - 55
      if version >= 7 { modules -= 36 }
    }
    return modules / 8
  }

  private static func dataCount(_ version: Int) -> Int {
    let (check, count) = blocks[version - 1]
    return byteCount(version) - check * count
  }

  /// How many bytes of text fit after the mode and the length.
  private static func capacity(_ version: Int) -> Int { dataCount(version) - (version < 10 ? 2 : 3) }

  /// Data and check bytes in drawing order.
  private static func codewords(_ text: [UInt8], _ version: Int) -> [UInt8] {
    // The 4-bit mode before the 8- or 16-bit length shifts every byte by half a byte.
    let count = dataCount(version)
    let head: [UInt8] = version < 10 ? [UInt8(text.count)] : [UInt8(text.count >> 8), UInt8(text.count & 255)]
    var data: [UInt8] = []
    var half: UInt8 = 0b0100
    for byte in head + text {
      data.append(half << 4 | byte >> 4)
      half = byte & 15
    }
    data.append(half << 4)
    for place in 0..<(count - data.count) { data.append(place % 2 == 0 ? 0xEC : 0x11) }

    let (check, blockCount) = blocks[version - 1]
    let (short, longer) = count.quotientAndRemainder(dividingBy: blockCount)
    var pieces: [(data: [UInt8], check: [UInt8])] = []
    var start = 0
    let divisor = generator(check)
    for block in 0..<blockCount {
      let length = short + (block >= blockCount - longer ? 1 : 0)
      let piece = Array(data[start..<start + length])
      pieces.append((piece, remainder(of: piece, by: divisor)))
      start += length
    }
    var drawn: [UInt8] = []
    for place in 0...short { drawn += pieces.compactMap { place < $0.data.count ? $0.data[place] : nil } }
    for place in 0..<check { drawn += pieces.map { $0.check[place] } }
    return drawn
  }

  /// The product in GF(2⁸) modulo x⁸ + x⁴ + x³ + x² + 1.
  private static func product(_ one: UInt8, _ other: UInt8) -> UInt8 {
    var product = 0
    for bit in (0..<8).reversed() {
      product = product << 1 ^ (product >> 7 & 1) * 0x11D
      if other >> bit & 1 == 1 { product ^= Int(one) }
    }
    return UInt8(product & 255)
  }

  /// The polynomial with the roots 2⁰ … 2ⁿ⁻¹, without its leading coefficient, 1.
  private static func generator(_ degree: Int) -> [UInt8] {
    var polynomial = [UInt8](repeating: 0, count: degree - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<degree {
      for place in 0..<degree {
        polynomial[place] = product(polynomial[place], root) ^ (place + 1 < degree ? polynomial[place + 1] : 0)
      }
      root = product(root, 2)
    }
    return polynomial
  }

  private static func remainder(of data: [UInt8], by divisor: [UInt8]) -> [UInt8] {
    var rest = [UInt8](repeating: 0, count: divisor.count)
    for byte in data {
      let factor = byte ^ rest.removeFirst()
      rest.append(0)
      for place in divisor.indices { rest[place] ^= product(divisor[place], factor) }
    }
    return rest
  }

  // MARK: Drawing

  private mutating func fix(_ row: Int, _ column: Int, _ dark: Bool) {
    isDark[row * size + column] = dark
    isFixed[row * size + column] = true
  }

  private mutating func drawFixed(_ version: Int) {
    for place in 0..<size {
      fix(6, place, place % 2 == 0)
      fix(place, 6, place % 2 == 0)
    }
    for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] {
      for down in -4...4 {
        for right in -4...4 {
          let (row, column, distance) = (row + down, column + right, max(abs(down), abs(right)))
          if row >= 0, row < size, column >= 0, column < size { fix(row, column, distance != 2 && distance != 4) }
        }
      }
    }
    let marks = Self.alignment(version, size)
    for row in marks {
      for column in marks {
        // The finders are here.
        if [(6, 6), (6, size - 7), (size - 7, 6)].contains(where: { $0 == (row, column) }) { continue }
        for down in -2...2 {
          for right in -2...2 { fix(row + down, column + right, max(abs(down), abs(right)) != 1) }
        }
      }
    }
    drawFormat(0)
    if version >= 7 {
      var rest = version
      for _ in 0..<12 { rest = rest << 1 ^ (rest >> 11) * 0x1F25 }
      let bits = version << 12 | rest
      for place in 0..<18 {
        let (far, near) = (size - 11 + place % 3, place / 3)
        fix(near, far, bits >> place & 1 == 1)
        fix(far, near, bits >> place & 1 == 1)
      }
    }
  }

  private static func alignment(_ version: Int, _ size: Int) -> [Int] {
    if version == 1 { return [] }
    let count = version / 7 + 2
    let step = (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
    return [6] + (0..<count - 1).map { size - 7 - $0 * step }
  }

  /// Draws the error correction level and the mask, twice.
  private mutating func drawFormat(_ mask: Int) {
    // Level M is 00.
    var rest = mask
    for _ in 0..<10 { rest = rest << 1 ^ (rest >> 9) * 0x537 }
    let bits = (mask << 10 | rest) ^ 0x5412
    func bit(_ place: Int) -> Bool { bits >> place & 1 == 1 }
    for place in 0...5 { fix(place, 8, bit(place)) }
    fix(7, 8, bit(6))
    fix(8, 8, bit(7))
    fix(8, 7, bit(8))
    for place in 9...14 { fix(8, 14 - place, bit(place)) }
    for place in 0...7 { fix(8, size - 1 - place, bit(place)) }
    for place in 8...14 { fix(size - 15 + place, 8, bit(place)) }
    fix(size - 8, 8, true)
  }

  /// Fills pairs of columns from right to left, alternately upward and downward.
  private mutating func draw(_ codewords: [UInt8]) {
    var place = 0
    for pair in stride(from: size - 1, through: 1, by: -2) {
      let right = pair <= 6 ? pair - 1 : pair
      for step in 0..<size {
        let isUpward = (right + 1) & 2 == 0
        let row = isUpward ? size - 1 - step : step
        for column in [right, right - 1] where !isFixed[row * size + column] && place < codewords.count * 8 {
          isDark[row * size + column] = codewords[place >> 3] >> (7 - place & 7) & 1 == 1
          place += 1
        }
      }
    }
  }

  private mutating func apply(_ mask: Int) {
    for row in 0..<size {
      for column in 0..<size where !isFixed[row * size + column] {
        let flips =
          switch mask {
          case 0: (row + column) % 2
          case 1: row % 2
          case 2: column % 3
          case 3: (row + column) % 3
          case 4: (row / 2 + column / 3) % 2
          case 5: row * column % 2 + row * column % 3
          case 6: (row * column % 2 + row * column % 3) % 2
          default: ((row + column) % 2 + row * column % 3) % 2
          }
        if flips == 0 { isDark[row * size + column].toggle() }
      }
    }
  }

  /// The penalty by the standard's four rules.
  private var penalty: Int {
    var penalty = 0
    let finder = [true, false, true, true, true, false, true]
    let light = [false, false, false, false]
    for isRow in [true, false] {
      for line in 0..<size {
        let modules = (0..<size).map { isRow ? self[line, $0] : self[$0, line] }
        var run = 0
        for place in 0..<size {
          run = place > 0 && modules[place] == modules[place - 1] ? run + 1 : 1
          if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
          if place + 11 <= size {
            let window = Array(modules[place..<place + 11])
            if window == finder + light || window == light + finder { penalty += 40 }
          }
        }
      }
    }
    for row in 0..<size - 1 {
      for column in 0..<size - 1 {
        let dark = self[row, column]
        if dark == self[row, column + 1], dark == self[row + 1, column], dark == self[row + 1, column + 1] {
          penalty += 3
        }
      }
    }
    let dark = isDark.count { $0 }
    return penalty + abs(dark * 20 - size * size * 10) / (size * size) * 10
  }
}
