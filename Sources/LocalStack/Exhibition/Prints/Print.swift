/// A picture that the demo draws: one of several designs, in one of several palettes.
struct Print: Sendable, Hashable {
  /// What is drawn; an author of a subject prefers some of them.
  enum Design: Int, Sendable, CaseIterable {
    case hills, discs, terrazzo, tiles, vessels, leaves, rays, windows, waves, cutouts, portrait
  }

  enum Shape: Sendable, CaseIterable {
    case square, upright, wide

    /// In hundredths of the longer side.
    fileprivate var sides: (Int, Int) {
      switch self {
      case .square: (100, 100)
      case .upright: (80, 100)
      case .wide: (100, 75)
      }
    }
  }

  let design: Design
  let shape: Shape
  /// An index of `PrintPalette.all`.
  let palette: Int
  let seed: UInt64

  /// Draws it.
  ///
  /// - Parameter side: the longer side, in pixels.
  /// - Returns: a PNG, the same for the same print and side.
  func png(side: Int = 1080) -> [UInt8] {
    let (width, height) = shape.sides
    var sheet = PrintSheet(width: side * width / 100, height: side * height / 100)
    var numbers = SeededNumbers(seed: seed, stream: UInt64(design.rawValue) + 1)
    draw(on: &sheet, &numbers)
    return sheet.png(PrintPalette.all[palette % PrintPalette.all.count])
  }

  private func draw(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    switch design {
    case .hills: PrintScenes.hills(on: &sheet, &numbers)
    case .leaves: PrintScenes.leaves(on: &sheet, &numbers)
    case .vessels: PrintScenes.vessels(on: &sheet, &numbers)
    case .windows: PrintScenes.windows(on: &sheet, &numbers)
    case .portrait: PrintScenes.portrait(on: &sheet, &numbers)
    case .discs: PrintPatterns.discs(on: &sheet, &numbers)
    case .terrazzo: PrintPatterns.terrazzo(on: &sheet, &numbers)
    case .tiles: PrintPatterns.tiles(on: &sheet, &numbers)
    case .rays: PrintPatterns.rays(on: &sheet, &numbers)
    case .waves: PrintPatterns.waves(on: &sheet, &numbers)
    case .cutouts: PrintPatterns.cutouts(on: &sheet, &numbers)
    }
  }
}
