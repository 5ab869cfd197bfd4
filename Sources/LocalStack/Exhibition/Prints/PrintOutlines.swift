import Foundation

/// Outlines to print.
enum PrintOutlines {
  static func rectangle(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> [PrintPoint] {
    [
      PrintPoint(x, y), PrintPoint(x + width, y), PrintPoint(x + width, y + height), PrintPoint(x, y + height),
    ]
  }

  static func ellipse(_ center: PrintPoint, _ width: Double, _ height: Double, turned: Double = 0) -> [PrintPoint] {
    let (c, s) = (cos(turned * 2 * .pi), sin(turned * 2 * .pi))
    return (0..<96).map { step in
      let angle = Double(step) / 96 * 2 * .pi
      let (x, y) = (cos(angle) * width, sin(angle) * height)
      return PrintPoint(center.x + x * c - y * s, center.y + x * s + y * c)
    }
  }

  static func circle(_ center: PrintPoint, _ radius: Double) -> [PrintPoint] { ellipse(center, radius, radius) }

  /// The part of a disc between two angles, in turns.
  static func slice(_ center: PrintPoint, _ radius: Double, _ from: Double, _ to: Double) -> [PrintPoint] {
    [center] + (0...48).map { center.moved(radius, from + (to - from) * Double($0) / 48) }
  }

  /// A round shape that wavers.
  static func blob(_ center: PrintPoint, _ radius: Double, _ numbers: inout SeededNumbers) -> [PrintPoint] {
    let waves = (2...5).map { (Double($0), numbers.between(0.02, 0.3) / Double($0), numbers.unit()) }
    return (0..<120).map { step in
      let turn = Double(step) / 120
      let swell = waves.reduce(1) { $0 + $1.1 * sin(2 * .pi * (turn * $1.0 + $1.2)) }
      return center.moved(radius * swell, turn)
    }
  }

  /// What is below a wavering line.
  static func ground(at height: Double, swing: Double, bottom: Double, _ numbers: inout SeededNumbers) -> [PrintPoint] {
    let waves = [1.0, 1.7, 3.1, 5.3].map { (numbers.between(0.7, 1.3) * $0, swing / $0, numbers.unit()) }
    let line = (0...120).map { step in
      let x = Double(step) / 120
      return PrintPoint(x, waves.reduce(height) { $0 + $1.1 * sin(2 * .pi * (x * $1.0 + $1.2)) })
    }
    return line + [PrintPoint(1, bottom), PrintPoint(0, bottom)]
  }

  /// A leaf from its stem's end to its tip.
  ///
  /// - Parameter width: the widest place's, as a part of the length.
  static func leaf(_ stem: PrintPoint, _ length: Double, _ turns: Double, width: Double) -> [PrintPoint] {
    let side = (0...32).map { step in
      let along = Double(step) / 32
      return (along, width / 2 * sin(.pi * pow(along, 0.8)))
    }
    let tip = side.map { stem.moved(length * $0.0, turns).moved(length * $0.1, turns + 0.25) }
    return tip + side.reversed().map { stem.moved(length * $0.0, turns).moved(-length * $0.1, turns + 0.25) }
  }

  /// A line of some width through points.
  static func stroke(_ points: [PrintPoint], _ width: Double) -> [PrintPoint] {
    let sides = points.indices.map { index in
      let (before, after) = (points[max(0, index - 1)], points[min(points.count - 1, index + 1)])
      let turns = atan2(after.y - before.y, after.x - before.x) / (2 * .pi)
      return (points[index].moved(width / 2, turns + 0.25), points[index].moved(width / 2, turns - 0.25))
    }
    return sides.map(\.0) + sides.map(\.1).reversed()
  }

  /// A vessel turned on a wheel: half its width at heights from the rim to the foot.
  static func vessel(_ foot: PrintPoint, height: Double, halves: [Double]) -> [PrintPoint] {
    let steps = 80
    let side = (0...steps).map { step in
      let place = Double(step) / Double(steps) * Double(halves.count - 1)
      let index = min(Int(place), halves.count - 2)
      let part = place - Double(index)
      let eased = part * part * (3 - 2 * part)
      return PrintPoint(
        halves[index] + (halves[index + 1] - halves[index]) * eased, height * (1 - Double(step) / Double(steps)))
    }
    return side.map { PrintPoint(foot.x + $0.x, foot.y - $0.y) }
      + side.reversed().map { PrintPoint(foot.x - $0.x, foot.y - $0.y) }
  }
}
