/// Writes metrics in Prometheus' text format.
///
/// The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format, version 0.0.4.
struct PrometheusText {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var text = ""

  mutating func write(_ name: String, _ family: PrometheusFamily, help: String) {
    text += "# HELP \(name) \(Self.escaped(help, quote: false))\n# TYPE \(name) \(family.kind.rawValue)\n"
    let series = family.series.map { (labels: $0.key.map(Self.pair), sample: $0.value.sample()) }
    for (labels, sample) in series.sorted(by: { $0.labels.lexicographicallyPrecedes($1.labels) }) {
      switch sample {
      case .number(let value):
        line(name, labels, value)
      case .distribution(let bounds, let counts, let sum):
        var total = 0
        for (bound, count) in zip(bounds + [.infinity], counts) {
          total += count
          line(name + "_bucket", labels + ["le=\"\(Self.number(bound))\""], Double(total))
        }
        line(name + "_sum", labels, sum)
        line(name + "_count", labels, Double(total))
      }
    }
  }

  private mutating func line(_ name: String, _ labels: [String], _ value: Double) {
    text += labels.isEmpty ? name : "\(name){\(labels.joined(separator: ","))}"
    text += " \(Self.number(value))\n"
  }

  private static func pair(_ label: PrometheusLabel) -> String {
    "\(label.name)=\"\(escaped(label.value, quote: true))\""
  }

  private static func number(_ value: Double) -> String {
    if value == .infinity { return "+Inf" }
    if value == -.infinity { return "-Inf" }
    if value.isNaN { return "NaN" }
    return Int64(exactly: value).map(String.init) ?? value.description
  }

  private static func escaped(_ text: String, quote: Bool) -> String {
    var result = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quote: result += "\\\""
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }

  /// A metric's name: letters, digits, underscores and colons, no digit first.
  static func name(_ text: String) -> String { sanitized(text, alsoAllowed: ":") }

  /// A label's name: the same without the colon.
  static func labelName(_ text: String) -> String { sanitized(text, alsoAllowed: "_") }

  private static func sanitized(_ text: String, alsoAllowed: Unicode.Scalar) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      let isAllowed =
        scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)) || scalar == alsoAllowed
      result.unicodeScalars.append(isAllowed ? scalar : "_")
    }
    let startsWithDigit = result.unicodeScalars.first.map { ("0"..."9").contains($0) } ?? true
    return startsWithDigit ? "_" + result : result
  }
}
