/// A picture drawn by the demo: a gradient of two colours, and a disc.
struct DemoPicture: Sendable {
  private static let side = 256

  /// A PNG.
  let bytes: [UInt8]

  /// - Parameter number: each number gives a different picture.
  init(_ number: Int) {
    let (top, bottom, disc) = (Self.color(number * 37), Self.color(number * 37 + 120), Self.color(number * 37 + 240))
    let center = (x: 64 + number * 53 % 128, y: 64 + number * 29 % 128)
    let radius = 24 + number * 7 % 40
    bytes =
      StoredPNG(width: Self.side, height: Self.side) { x, y in
        let (dx, dy) = (x - center.x, y - center.y)
        let isDisc = dx * dx + dy * dy < radius * radius
        return (0..<3).map { channel in
          UInt8(isDisc ? disc[channel] : (top[channel] * (Self.side - y) + bottom[channel] * y) / Self.side)
        }
      }.bytes
  }

  /// A colour on the wheel, in degrees.
  private static func color(_ degrees: Int) -> [Int] {
    (0..<3).map { channel in min(235, max(40, abs((degrees + channel * 120) % 360 - 180) * 2 - 60)) }
  }
}
