/// Designs that show something.
enum PrintScenes {
  static func hills(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    sheet.fill(sheet.edge, 0, .linear(PrintPoint(0.5, 0), 0.08, PrintPoint(0.5, bottom * 0.75), 0.75))
    sheet.fill(sheet.edge, 1, .linear(PrintPoint(0.5, bottom * 0.2), 0, PrintPoint(0.5, bottom * 0.7), 0.5))
    let sun = PrintPoint(numbers.between(0.25, 0.75), bottom * numbers.between(0.22, 0.42))
    let radius = numbers.between(0.1, 0.2)
    sheet.clear(PrintOutlines.circle(sun, radius))
    sheet.fill(
      PrintOutlines.circle(sun, radius), numbers.below(2),
      .linear(PrintPoint(0.5, sun.y - radius), 1, PrintPoint(0.5, sun.y + radius), 0.35))
    let count = 4 + numbers.below(3)
    for step in 0..<count {
      let part = Double(step) / Double(count - 1)
      let height = bottom * (0.46 + 0.4 * part)
      let ground = PrintOutlines.ground(
        at: height, swing: 0.11 - 0.06 * part, bottom: bottom + 0.2, &numbers)
      sheet.clear(ground)
      let (top, end) = (PrintPoint(0.5, height - 0.12), PrintPoint(0.5, height + bottom * 0.22))
      sheet.fill(ground, 2, .linear(top, 0.3 + 0.65 * part, end, 0.08 + 0.5 * part))
      sheet.fill(ground, 1, .linear(top, 0.5 - 0.5 * part, end, 0.1))
      sheet.fill(ground, 3, .linear(top, max(0, part * 1.5 - 0.75), end, part * 0.25))
      if step == count - 1 || numbers.chance(25) { trees(on: &sheet, at: height, part, &numbers) }
    }
  }

  private static func trees(
    on sheet: inout PrintSheet, at height: Double, _ part: Double, _ numbers: inout SeededNumbers
  ) {
    for _ in 0..<(3 + numbers.below(6)) {
      let size = numbers.between(0.05, 0.1) * (0.6 + part)
      let foot = PrintPoint(numbers.unit(), height + numbers.between(0.03, 0.14))
      let (left, right) = (PrintPoint(foot.x - size / 2, foot.y), PrintPoint(foot.x + size / 2, foot.y))
      let crown = [PrintPoint(foot.x, foot.y - size * 2.4), right, left]
      sheet.fill(crown, 3, .linear(left, 0.95, right, 0.45))
    }
  }

  static func leaves(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    sheet.fill(sheet.edge, 0, .flat(numbers.between(0.12, 0.5)))
    let moon = PrintPoint(numbers.between(0.3, 0.7), bottom * numbers.between(0.3, 0.55))
    let disc = PrintOutlines.circle(moon, numbers.between(0.24, 0.36))
    sheet.fill(disc, 1, .linear(PrintPoint(0.5, moon.y - 0.3), 0.85, PrintPoint(0.5, moon.y + 0.3), 0.3))
    for stem in 0..<(3 + numbers.below(3)) {
      let foot = PrintPoint(numbers.between(0.15, 0.85), bottom + 0.03)
      let lean = numbers.between(-0.07, 0.07)
      let length = bottom * numbers.between(0.55, 0.95)
      let ink = stem % 2 == 0 ? 2 : 3
      let points = (0...24).map { step in
        let along = Double(step) / 24
        return foot.moved(length * along, 0.75 + lean * (0.5 + along))
      }
      sheet.fill(PrintOutlines.stroke(points, 0.012), ink)
      let width = numbers.between(0.2, 0.62)
      for (index, point) in points.enumerated().dropFirst(5) where index % 3 != 1 {
        let size = (0.3 - 0.0075 * Double(index)) * numbers.between(0.75, 1.15)
        let side = index % 2 == 0 ? 1.0 : -1.0
        let turns = 0.75 + lean + side * numbers.between(0.1, 0.17)
        let leaf = PrintOutlines.leaf(point, size, turns, width: width)
        sheet.fill(leaf, ink, .linear(point, 0.95, point.moved(size, turns), 0.4))
        if numbers.chance(40) { sheet.fill(leaf, 0, .flat(0.7)) }
      }
    }
  }

  static func vessels(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    let table = bottom * numbers.between(0.68, 0.78)
    sheet.fill(PrintOutlines.rectangle(0, 0, 1, table), 0, .linear(PrintPoint(0, 0), 0.15, PrintPoint(1, table), 0.6))
    let arch = PrintPoint(numbers.between(0.3, 0.7), table)
    let span = numbers.between(0.26, 0.36)
    let round = PrintOutlines.slice(PrintPoint(arch.x, table - bottom * 0.25), span, 0.5, 1).dropFirst()
    let window = round + [PrintPoint(arch.x + span, table), PrintPoint(arch.x - span, table)]
    sheet.fill(Array(window), 1, .linear(PrintPoint(0.5, 0), 0.75, PrintPoint(0.5, table), 0.15))
    let cloth = PrintOutlines.rectangle(0, table, 1, bottom)
    sheet.fill(cloth, 1, .linear(PrintPoint(0.5, table), 0.3, PrintPoint(0.5, bottom), 0.6))
    let count = 2 + numbers.below(3)
    for step in 0..<count {
      let x = (Double(step) + numbers.between(0.4, 0.6)) / Double(count) * 0.8 + 0.1
      vessel(on: &sheet, PrintPoint(x, table + numbers.between(0.03, 0.14)), count, 2 + step % 2, &numbers)
    }
  }

  private static func vessel(
    on sheet: inout PrintSheet, _ foot: PrintPoint, _ count: Int, _ ink: Int, _ numbers: inout SeededNumbers
  ) {
    let height = numbers.between(0.24, 0.52)
    let widest = min(0.62 / Double(count) * numbers.between(0.7, 0.95), height * 0.55)
    let neck = widest * numbers.between(0.25, 0.6)
    let halves = [
      [neck * 1.25, neck, widest * 0.95, widest, widest * 0.5],
      [widest, widest * 0.98, widest * 0.85, widest * 0.45],
      [neck, neck, neck * 1.1, widest, widest * 0.95, widest * 0.6],
      [neck * 1.3, neck, widest, neck * 1.4, widest * 0.6],
    ][numbers.below(4)]
    let shadow = PrintOutlines.ellipse(PrintPoint(foot.x + widest * 0.5, foot.y), widest * 1.4, 0.022)
    sheet.fill(shadow, 3, .radial(shadow[48], 0.5, radius: widest * 2.8, 0.1))
    if numbers.chance(45) {
      for turn in [-0.08, -0.02, 0.05, 0.1] {
        let top = PrintPoint(foot.x, foot.y - height)
        let end = top.moved(numbers.between(0.14, 0.26), 0.75 + turn)
        sheet.fill(PrintOutlines.stroke([top, end], 0.007), 3)
        sheet.fill(PrintOutlines.leaf(end, 0.1, 0.75 + turn * 1.6, width: 0.5), numbers.pick([1, 2]), .flat(0.9))
        sheet.fill(PrintOutlines.circle(end, 0.02), 1)
      }
    }
    let outline = PrintOutlines.vessel(foot, height: height, halves: halves)
    sheet.clear(outline)
    let (left, right) = (PrintPoint(foot.x - widest, foot.y), PrintPoint(foot.x + widest, foot.y))
    sheet.fill(outline, ink, .linear(left, 0.3, right, 1))
    sheet.fill(outline, numbers.below(2), .flat(numbers.between(0.15, 0.6)))
    if numbers.chance(60) {
      // A band of glaze: what lies between two heights of the same outline.
      let (top, end) = (foot.y - height * numbers.between(0.55, 0.7), foot.y - height * numbers.between(0.3, 0.45))
      let band = outline.map { PrintPoint($0.x, min(max($0.y, top), end)) }
      sheet.clear(band)
      sheet.fill(band, numbers.pick([0, 1]), .linear(left, 0.55, right, 1))
      sheet.fill(band, 3, .linear(left, -0.1, right, 0.4))
    }
  }

  static func windows(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    sheet.fill(sheet.edge, 2, .linear(PrintPoint(0.5, 0), 0.75, PrintPoint(0.5, bottom), 0.1))
    sheet.fill(sheet.edge, 1, .linear(PrintPoint(0.5, bottom * 0.35), 0, PrintPoint(0.5, bottom), 0.7))
    let moon = PrintPoint(numbers.between(0.15, 0.85), bottom * numbers.between(0.1, 0.24))
    sheet.clear(PrintOutlines.circle(moon, 0.07))
    sheet.fill(PrintOutlines.circle(moon, 0.07), 0, .flat(0.5))
    for row in 0..<3 {
      var x = -numbers.between(0, 0.15)
      while x < 1 {
        let width = numbers.between(0.11, 0.24)
        let top = bottom * (0.3 + 0.2 * Double(row)) + numbers.between(-0.08, 0.14)
        house(on: &sheet, PrintPoint(x, top), width, row, &numbers)
        x += width + numbers.between(-0.01, 0.02)
      }
    }
  }

  private static func house(
    on sheet: inout PrintSheet, _ corner: PrintPoint, _ width: Double, _ row: Int, _ numbers: inout SeededNumbers
  ) {
    let wall = PrintOutlines.rectangle(corner.x, corner.y, width, sheet.bottom - corner.y)
    let roof = numbers.between(0, 0.09)
    let outline =
      [wall[0], PrintPoint(corner.x + width * numbers.pick([0, 0.5, 0.5, 1]), corner.y - roof)] + wall[1...]
    sheet.clear(outline)
    let (left, right) = (corner, PrintPoint(corner.x + width, corner.y))
    let dark = [0.25, 0.6, 0.95][row]
    sheet.fill(outline, numbers.pick([2, 2, 3]), .linear(left, dark, right, dark * 0.6))
    sheet.fill(outline, 1, .linear(left, numbers.between(0, 0.6), right, 0.2))
    let columns = 2 + numbers.below(3)
    let pane = width / (Double(columns) * 1.7 + 0.7)
    var y = corner.y + pane
    while y < sheet.bottom {
      for column in 0..<columns where numbers.chance(70) {
        let window = PrintOutlines.rectangle(corner.x + pane * (0.7 + 1.7 * Double(column)), y, pane, pane * 1.3)
        if numbers.chance(55) { sheet.clear(window) }
        sheet.fill(window, numbers.pick([0, 0, 3]), .flat(0.9))
      }
      y += pane * 2.3
    }
  }

  /// A head and shoulders.
  static func portrait(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    let ground = numbers.below(3)
    sheet.fill(sheet.edge, ground, .linear(PrintPoint(0, 0), numbers.between(0.2, 0.6), PrintPoint(1, bottom), 0.85))
    if numbers.chance(50) {
      sheet.fill(PrintOutlines.circle(PrintPoint(numbers.unit(), bottom * 0.3), 0.3), (ground + 1) % 3, .flat(0.5))
    }
    let face = PrintPoint(0.5, bottom * 0.45)
    let (half, tall) = (numbers.between(0.17, 0.21), numbers.between(0.21, 0.25))
    let (hair, shirt) = (numbers.pick([3, 3, 2]), (ground + 1 + numbers.below(2)) % 3)
    let isLong = numbers.chance(50)
    if isLong {
      let back = PrintOutlines.ellipse(PrintPoint(0.5, face.y + 0.05), half * 1.45, tall * 1.5)
      sheet.clear(back)
      sheet.fill(back, hair, .flat(0.9))
    }
    let shoulders = PrintOutlines.ellipse(PrintPoint(0.5, bottom + 0.06), numbers.between(0.34, 0.42), bottom * 0.36)
    sheet.clear(shoulders)
    sheet.fill(shoulders, shirt, .linear(PrintPoint(0.1, bottom), 1, PrintPoint(0.9, bottom), 0.6))
    if numbers.chance(40) {
      for line in stride(from: bottom * 0.74, to: bottom, by: 0.07) {
        sheet.fill(shoulders.map { PrintPoint($0.x, min(max($0.y, line), line + 0.03)) }, 3, .flat(0.7))
      }
    }
    let neck = PrintOutlines.rectangle(0.5 - half * 0.42, face.y, half * 0.84, bottom * 0.33)
    let head = PrintOutlines.ellipse(face, half, tall)
    let (skin, tone) = (shirt == 1 ? 0 : 1, PrintTone.flat(numbers.between(0.12, 0.5)))
    sheet.clear(neck)
    sheet.fill(neck, skin, tone)
    sheet.fill(neck, 3, .linear(PrintPoint(0.5, face.y + tall * 0.8), 0.35, PrintPoint(0.5, face.y + tall * 1.5), 0))
    sheet.clear(head)
    sheet.fill(head, skin, tone)
    let fringe = face.y - tall * numbers.between(0.1, 0.45)
    let top = PrintOutlines.ellipse(PrintPoint(0.5, face.y - 0.015), half * 1.12, tall * 1.12)
    let lock = numbers.between(-0.05, 0.05)
    let cap = top.map { PrintPoint($0.x, min($0.y, fringe + ($0.x - 0.5) * lock / half)) }
    sheet.clear(cap)
    sheet.fill(cap, hair, .linear(PrintPoint(0.3, 0), 1, PrintPoint(0.7, 0), 0.85))
    if !isLong, numbers.chance(30) {
      sheet.fill(PrintOutlines.circle(PrintPoint(0.5, face.y - tall * 1.22), half * 0.42), hair, .flat(0.95))
    }
    for side in [-1.0, 1.0] {
      let eye = PrintPoint(0.5 + side * half * 0.42, face.y + tall * 0.12)
      sheet.fill(PrintOutlines.circle(eye, 0.017), 3)
      sheet.fill(PrintOutlines.circle(PrintPoint(0.5 + side * half * 0.6, face.y + tall * 0.45), 0.04), 1, .flat(0.55))
    }
    if numbers.chance(35) {
      for side in [-1.0, 1.0] {
        let eye = PrintPoint(0.5 + side * half * 0.42, face.y + tall * 0.12)
        let ring = PrintOutlines.circle(eye, half * 0.34)
        sheet.fill(PrintOutlines.stroke(ring + [ring[0]], 0.012), 3)
      }
    }
    let smile = PrintOutlines.slice(PrintPoint(0.5, face.y + tall * 0.45), half * 0.35, 0.08, 0.42)
    sheet.fill(PrintOutlines.stroke(Array(smile.dropFirst()), 0.014), 3)
  }
}
