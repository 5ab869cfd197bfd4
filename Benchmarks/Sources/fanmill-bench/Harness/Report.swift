import Foundation

/// All figures of one benchmark, as a table or as a JSON document.
struct Report {
  let machine: Machine
  let runs: Int
  let figures: [Figure]

  /// Whether every bound that could be judged holds.
  var passed: Bool { figures.allSatisfy { figure in figure.verdicts.allSatisfy { $0.holds != false } } }

  private static let head = ["", "Fanmill", "plain C", "ratio", "Sidekiq", "ratio", "at least", ""]

  private var rows: [[String]] {
    figures.map { figure in
      [
        figure.title, Self.text(figure.median, figure.unit),
        Self.text(figure.rawMedian, figure.unit), Self.ratio(figure.ratio(to: figure.rawMedian)),
        Self.text(figure.sidekiqMedian, figure.unit), Self.ratio(figure.ratio(to: figure.sidekiqMedian)),
        figure.bounds.map { Self.text($0, figure.unit) }.joined(separator: ", "), Self.mark(figure),
      ]
    }
  }

  var text: String {
    let all = [Self.head] + rows
    let widths = Self.head.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    let lines = all.map { row in
      zip(row, widths).enumerated().map { column, cell in
        let space = String(repeating: " ", count: cell.1 - cell.0.count)
        return column == 0 || column >= 6 ? cell.0 + space : space + cell.0
      }.joined(separator: "  ")
    }
    return ([""] + lines + ["", note]).joined(separator: "\n")
  }

  var markdown: String {
    let lines = ["| " + Self.head.joined(separator: " | ") + " |", "|---|--:|--:|--:|--:|--:|---|---|"]
    return (lines + rows.map { "| " + $0.joined(separator: " | ") + " |" } + ["", note]).joined(separator: "\n")
  }

  func json() throws -> String {
    let document: [String: Any] = [
      "machine": machine.facts.reduce(into: [String: String]()) { $0[$1.name] = $1.value },
      "runs": runs, "passed": passed,
      "figures": figures.map { figure in
        [
          "title": figure.title, "unit": figure.unit.rawValue, "median": Self.value(figure.median),
          "samples": figure.samples, "raw": figure.raw, "sidekiq": figure.sidekiq,
          "ratioToRaw": Self.value(figure.ratio(to: figure.rawMedian)),
          "ratioToSidekiq": Self.value(figure.ratio(to: figure.sidekiqMedian)),
          "bounds": figure.verdicts.map { verdict in
            ["bound": Self.text(verdict.bound, figure.unit), "holds": verdict.holds.map { $0 as Any } ?? NSNull()]
              as [String: Any]
          },
        ] as [String: Any]
      },
    ]
    let data = try JSONSerialization.data(withJSONObject: document, options: [.prettyPrinted, .sortedKeys])
    return String(decoding: data, as: UTF8.self)
  }

  private var note: String {
    let how = runs == 1 ? "One run each" : "Medians of \(runs) runs"
    return "\(how), on \(machine.facts.map { "\($0.name) \($0.value)" }.joined(separator: ", "))."
  }

  private static func mark(_ figure: Figure) -> String {
    let verdicts = figure.verdicts
    if verdicts.isEmpty { return "" }
    if verdicts.contains(where: { $0.holds == false }) { return "MISSED" }
    return verdicts.contains { $0.holds == nil } ? "not judged" : "ok"
  }

  private static func value(_ number: Double?) -> Any { number.map { $0 as Any } ?? NSNull() }

  private static func ratio(_ ratio: Double?) -> String {
    guard let ratio else { return "" }
    return String(format: ratio < 10 ? "%.2f×" : "%.0f×", ratio)
  }

  private static func text(_ value: Double?, _ unit: Figure.Unit) -> String {
    guard let value else { return "" }
    return number(value) + (unit == .perSecond ? "" : " ") + unit.rawValue
  }

  private static func text(_ bound: Bound, _ unit: Figure.Unit) -> String {
    switch bound {
    case .atLeast(let value): "≥ \(text(value, unit))"
    case .atMost(let value): "≤ \(text(value, unit))"
    case .ofRaw(let factor): "\(number(factor))× C"
    case .timesSidekiq(let factor): "\(number(factor))× Sidekiq"
    }
  }

  private static func number(_ value: Double) -> String {
    if value >= 1000 {
      // A median of five has no more than three significant digits.
      let step = pow(10, (log10(value)).rounded(.down) - 2)
      let digits = String(Int((value / step).rounded() * step))
      var grouped = ""
      for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index) % 3 == 0 { grouped.append(",") }
        grouped.append(digit)
      }
      return grouped
    }
    if value == value.rounded() { return String(Int(value)) }
    return String(format: value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value)
  }
}
