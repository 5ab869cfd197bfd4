/// Designs without a subject.
enum PrintPatterns {
  static func discs(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    sheet.fill(sheet.edge, 0, .linear(PrintPoint(0, 0), numbers.between(0, 0.3), PrintPoint(1, bottom), 0.4))
    for step in 0..<(4 + numbers.below(4)) {
      let center = PrintPoint(numbers.between(0.1, 0.9), bottom * numbers.between(0.1, 0.9))
      let radius = numbers.between(0.1, 0.38)
      let turns = numbers.unit()
      let (dark, light) = (center.moved(radius, turns), center.moved(-radius, turns))
      let tone = PrintTone.linear(dark, 0.95, light, numbers.between(0, 0.4))
      let ink = [1, 2, 0, 1, 2, 3][step % 6]
      if numbers.chance(30) {
        sheet.fill(PrintOutlines.slice(center, radius, turns, turns + 0.5), ink, tone)
      } else {
        sheet.fill(PrintOutlines.circle(center, ink == 3 ? radius / 2.5 : radius), ink, tone)
      }
    }
    if numbers.chance(60) {
      let center = PrintPoint(numbers.between(0.2, 0.8), bottom * numbers.between(0.2, 0.8))
      for ring in 1...(4 + numbers.below(8)) {
        let circle = PrintOutlines.circle(center, 0.03 * Double(ring))
        sheet.fill(PrintOutlines.stroke(circle + [circle[0]], 0.006), 3)
      }
    }
  }

  static func terrazzo(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    sheet.fill(sheet.edge, numbers.below(2), .flat(numbers.between(0.1, 0.35)))
    let size = numbers.between(0.035, 0.075)
    var centers: [PrintPoint] = []
    for _ in 0..<1500 where centers.count < 240 {
      let center = PrintPoint(numbers.between(-0.03, 1.03), numbers.between(-0.03, bottom + 0.03))
      let isFree = centers.allSatisfy { other in
        let (dx, dy) = (other.x - center.x, other.y - center.y)
        return dx * dx + dy * dy > size * size * 4.2
      }
      if isFree { centers.append(center) }
    }
    for center in centers {
      let radius = size * numbers.between(0.6, 1.15)
      let start = numbers.unit()
      let corners = 4 + numbers.below(4)
      let chip = (0..<corners).map { corner in
        let turn = (Double(corner) + numbers.between(-0.25, 0.25)) / Double(corners)
        return center.moved(radius * numbers.between(0.6, 1), start + turn)
      }
      sheet.clear(chip)
      sheet.fill(chip, numbers.below(4), .linear(center.moved(radius, start), 0.5, center.moved(-radius, start), 1))
      if numbers.chance(30) { sheet.fill(chip, numbers.below(3), .flat(0.5)) }
    }
  }

  static func tiles(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let count = 4 + numbers.below(4)
    let side = 1 / Double(count)
    for row in 0..<Int((sheet.bottom / side).rounded(.up)) {
      for column in 0..<count {
        let corner = PrintPoint(Double(column) * side, Double(row) * side)
        tile(on: &sheet, corner, side, &numbers)
      }
    }
  }

  private static func tile(
    on sheet: inout PrintSheet, _ corner: PrintPoint, _ side: Double, _ numbers: inout SeededNumbers
  ) {
    let square = PrintOutlines.rectangle(corner.x, corner.y, side, side)
    let ground = numbers.below(5)
    if ground < 4 { sheet.fill(square, ground, .flat(ground == 3 ? 0.95 : 0.75)) }
    let ink = (ground + 1 + numbers.below(3)) % 4
    let turn = Double(numbers.below(4)) / 4
    let from = numbers.below(4)
    let tone = PrintTone.linear(square[from], 1, square[(from + 2) % 4], 0.55)
    let center = PrintPoint(corner.x + side / 2, corner.y + side / 2)
    switch numbers.below(6) {
    case 0: sheet.fill(PrintOutlines.slice(square[from], side, Double(from) / 4, Double(from + 1) / 4), ink, tone)
    case 1: sheet.fill(PrintOutlines.circle(center, side * 0.42), ink, tone)
    case 2: sheet.fill(PrintOutlines.slice(center, side / 2, turn, turn + 0.5), ink, tone)
    case 3: sheet.fill([square[from], square[(from + 1) % 4], square[(from + 2) % 4]], ink, tone)
    case 4:
      for step in 0..<4 {
        sheet.fill(
          PrintOutlines.rectangle(corner.x, corner.y + side * Double(step) / 4, side, side / 8), ink, tone)
      }
    default:
      for radius in [0.95, 0.7, 0.45, 0.2] {
        let arc = PrintOutlines.slice(square[from], side * radius, Double(from) / 4, Double(from + 1) / 4)
        sheet.fill(PrintOutlines.stroke(Array(arc.dropFirst()), side * 0.11), ink, tone)
      }
    }
  }

  static func rays(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    let center = PrintPoint(numbers.between(0.2, 0.8), bottom * numbers.between(0.3, 0.9))
    sheet.fill(sheet.edge, 0, .radial(center, 0.95, radius: 0.9, 0.15))
    let count = 9 + numbers.below(12)
    let start = numbers.unit()
    for ray in 0..<count {
      let turn = start + Double(ray) / Double(count)
      let wedge = [center, center.moved(2, turn), center.moved(2, turn + 0.5 / Double(count))]
      sheet.fill(wedge, 1 + ray % 2, .radial(center, 0.1, radius: 0.85, 0.9))
    }
    for (step, radius) in [0.24, 0.17, 0.1].enumerated() {
      let disc = PrintOutlines.circle(center, radius)
      if step != 1 { sheet.clear(disc) }
      let tone = PrintTone.linear(center.moved(radius, 0.75), 1, center.moved(radius, 0.25), 0.45)
      sheet.fill(disc, [1, 3, 0][step], tone)
    }
  }

  /// Rows of arcs, as on old cloth.
  static func waves(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let count = 4 + numbers.below(4)
    let radius = 0.5 / Double(count)
    let rows = Int(sheet.bottom / (radius * 0.5)) + 3
    let bare = numbers.below(7)
    for row in 0..<rows {
      for column in -1...count {
        let shift = row % 2 == 0 ? 0 : radius
        let center = PrintPoint(Double(column) * 2 * radius + radius + shift, Double(row) * radius * 0.5)
        let part = min(1, Double(row) / Double(rows))
        sheet.clear(PrintOutlines.circle(center, radius))
        for (step, size) in [1, 0.78, 0.56, 0.34].enumerated() {
          let disc = PrintOutlines.circle(center, radius * size)
          if step % 2 == 1 {
            sheet.clear(disc)
            if (row * 3 + column) % 7 == bare { sheet.fill(disc, 1, .flat(0.6)) }
          } else {
            sheet.fill(disc, 2, .flat(0.25 + 0.75 * part))
            sheet.fill(disc, 0, .flat(0.8 - 0.7 * part))
            sheet.fill(disc, 3, .flat(max(0, part - 0.55)))
          }
        }
      }
    }
  }

  /// Paper cut with scissors.
  static func cutouts(on sheet: inout PrintSheet, _ numbers: inout SeededNumbers) {
    let bottom = sheet.bottom
    let (columns, rows) = (2 + numbers.below(2), 2 + numbers.below(2))
    for row in 0..<rows {
      for column in 0..<columns {
        let (width, height) = (1 / Double(columns), bottom / Double(rows))
        let field = PrintOutlines.rectangle(Double(column) * width, Double(row) * height, width, height)
        let ground = (row * 2 + column + numbers.below(2)) % 4
        sheet.fill(field, ground, .flat(ground == 3 ? 0.9 : 0.7))
        let center = PrintPoint(field[0].x + width / 2, field[0].y + height / 2)
        let size = min(width, height) * 0.4
        let ink = (ground + 1 + numbers.below(3)) % 4
        let shapes =
          numbers.chance(50)
          ? [PrintOutlines.blob(center, size * 0.8, &numbers)]
          : (0..<7).map { PrintOutlines.leaf(center, size, Double($0) / 7 + numbers.between(-0.02, 0.02), width: 0.42) }
        for shape in shapes {
          sheet.clear(shape)
          sheet.fill(shape, ink, .linear(center.moved(size, 0.6), 1, center.moved(size, 0.1), 0.7))
        }
        if numbers.chance(50) {
          sheet.fill(PrintOutlines.circle(center, size * 0.24), (ink + 1) % 4)
        }
      }
    }
  }
}
