/// A picture drawn by the demo: fifteen bands from one colour to another, and a disc.
struct DemoPicture: Sendable {
  private static let side = 256
  private static let bands = 15

  /// A PNG.
  let bytes: [UInt8]

  /// - Parameter number: each number gives a different picture.
  init(_ number: Int) {
    let (top, bottom, disc) = (Self.color(number * 37), Self.color(number * 37 + 120), Self.color(number * 37 + 240))
    let palette = (0..<Self.bands).map { band in
      (0..<3).map { (top[$0] * (Self.bands - 1 - band) + bottom[$0] * band) / (Self.bands - 1) }
    }
    // By rows, because a build without optimisation spends a tenth of a second on single pixels.
    var indices: [UInt8] = []
    indices.reserveCapacity(Self.side * Self.side)
    for y in 0..<Self.side {
      indices += repeatElement(UInt8(y * Self.bands / Self.side), count: Self.side)
    }
    let center = (x: 64 + number * 53 % 128, y: 64 + number * 29 % 128)
    let radius = 24 + number * 7 % 40
    for dy in -radius...radius {
      let half = Int(Double(radius * radius - dy * dy).squareRoot())
      let middle = (center.y + dy) * Self.side + center.x
      indices.replaceSubrange(
        middle - half...middle + half, with: repeatElement(UInt8(Self.bands), count: 2 * half + 1))
    }
    bytes =
      StoredPNG(
        width: Self.side, height: Self.side, palette: (palette + [disc]).map { $0.map(UInt8.init) }, indices: indices
      ).bytes
  }

  /// A colour on the wheel, in degrees.
  private static func color(_ degrees: Int) -> [Int] {
    (0..<3).map { channel in min(235, max(40, abs((degrees + channel * 120) % 360 - 180) * 2 - 60)) }
  }
}
