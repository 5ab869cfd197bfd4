import Glibc
import Logging

/// One log event, ready to write. It stays one line, whatever its texts contain.
struct LogLine {
  let time: timespec
  let level: Logger.Level
  let label: String
  let message: String
  let fields: [(key: String, value: String)]

  var text: String {
    var line = "\(timestamp) \(level) \(label): \(Self.escaped(message, quote: false))"
    for (key, value) in fields {
      let needsQuotes = value.isEmpty || value.contains { $0 == " " || $0 == "\"" || $0 == "=" }
      let escaped = Self.escaped(value, quote: needsQuotes)
      line += needsQuotes ? " \(key)=\"\(escaped)\"" : " \(key)=\(escaped)"
    }
    return line + "\n"
  }

  /// Prefixes an underscore to a field whose key is reserved (`time`, `level`, `logger`, `message`).
  var json: String {
    var line = "{\"time\":\"\(timestamp)\",\"level\":\"\(level)\",\"logger\":\"\(Self.escaped(label, quote: true))\""
    line += ",\"message\":\"\(Self.escaped(message, quote: true))\""
    for (key, value) in fields {
      let name = ["time", "level", "logger", "message"].contains(key) ? "_\(key)" : key
      line += ",\"\(Self.escaped(name, quote: true))\":\"\(Self.escaped(value, quote: true))\""
    }
    return line + "}\n"
  }

  /// UTC, with milliseconds.
  private var timestamp: String {
    var seconds = time.tv_sec
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func padded(_ number: some BinaryInteger, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let day = "\(padded(parts.tm_year + 1900, 4))-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))"
    let clock = "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
    return "\(day)T\(clock).\(padded(time.tv_nsec / 1_000_000, 3))Z"
  }

  /// Escapes control characters as JSON does and, with `quote`, the quote and the backslash.
  private static func escaped(_ text: String, quote: Bool) -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\"" where quote: result += "\\\""
      case "\\" where quote: result += "\\\\"
      case _ where scalar.value < 0x20 || scalar.value == 0x7f:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
