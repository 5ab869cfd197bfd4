/// Builds metrics in Prometheus's text format.
///
/// The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format, version 0.0.4. A scrape
/// writes thousands of lines whose beginnings never change, so each series keeps its own as bytes and only numbers are
/// formatted again.
struct PrometheusText {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var bytes: [UInt8] = []

  /// - Parameter size: the expected number of bytes.
  init(size: Int = 0) { bytes.reserveCapacity(size) }

  mutating func begin(_ family: PrometheusFamily, help: String) {
    let help = Self.escaped(help, quote: false)
    bytes += "# HELP \(family.name) \(help)\n# TYPE \(family.name) \(family.kind.rawValue)\n".utf8
  }

  /// - Parameter beginning: a name with its labels and the following space.
  mutating func line(_ beginning: [UInt8], _ value: Double) {
    bytes += beginning
    if let whole = Int64(exactly: value) { append(whole) } else { bytes += Self.number(value).utf8 }
    bytes.append(UInt8(ascii: "\n"))
  }

  mutating func line(_ beginning: [UInt8], _ value: Int) {
    bytes += beginning
    append(Int64(value))
    bytes.append(UInt8(ascii: "\n"))
  }

  private mutating func append(_ number: Int64) {
    if number < 0 { bytes.append(UInt8(ascii: "-")) }
    var rest = number.magnitude
    let start = bytes.count
    repeat {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    bytes[start...].reverse()
  }

  /// The beginning of a line.
  static func beginning(_ name: String, _ labels: String) -> [UInt8] {
    Array((labels.isEmpty ? "\(name) " : "\(name){\(labels)} ").utf8)
  }

  /// A series' labels, sorted by name.
  static func text(_ labels: [PrometheusLabel]) -> String {
    labels.map { "\($0.name)=\"\(escaped($0.value, quote: true))\"" }.joined(separator: ",")
  }

  static func number(_ value: Double) -> String {
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

  /// A label's name: the same without colons.
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
