import Foundation

/// A payload as a job's page shows it.
struct PayloadText {
  /// More than this many bytes are cut off.
  static let limit = 64 * 1024

  /// Indented where it is JSON, else as it is.
  let text: String
  /// How many bytes it has, as text; nil where all are shown.
  let cutFrom: String?

  init(_ payload: String) {
    let isLong = payload.utf8.count > Self.limit
    cutFrom = isLong ? Format.bytes(payload.utf8.count) : nil
    let shown = Array(payload.utf8.prefix(Self.limit))
    guard Self.isJSON(payload) else {
      text = String(decoding: shown, as: UTF8.self)
      return
    }
    // Of a part, too: what it keeps secret is no less so for being followed by more.
    var printer = Printer()
    text = printer.print(shown)
  }

  private static func isJSON(_ text: String) -> Bool {
    do {
      _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
      return true
    } catch {
      return false
    }
  }

  /// Indents JSON without reading its values: a number stays as it was written. What stands under a name that tells of a secret
  /// is not shown.
  private struct Printer {
    private var output: [UInt8] = []
    private var depth = 0

    mutating func print(_ json: [UInt8]) -> String {
      var index = 0
      while index < json.count {
        let byte = json[index]
        switch byte {
        case UInt8(ascii: "\""):
          let end = Self.end(ofString: json, from: index)
          let string = json[index..<end]
          output += string
          index = end
          if let value = Self.value(after: index, in: json), Self.isSecret(string) {
            output += Array(#": "••••••""#.utf8)
            index = Self.end(ofValue: json, from: value)
          }
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          let next = Self.skipSpace(json, from: index + 1)
          if next < json.count, json[next] == byte + 2 {
            output += [byte, byte + 2]
            index = next + 1
            continue
          }
          output.append(byte)
          depth += 1
          newLine()
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          depth -= 1
          newLine()
          output.append(byte)
        case UInt8(ascii: ","):
          output.append(byte)
          newLine()
        case UInt8(ascii: ":"): output += Array(": ".utf8)
        case 0x20, 0x09, 0x0A, 0x0D: break
        default: output.append(byte)
        }
        index += 1
      }
      return String(decoding: output, as: UTF8.self)
    }

    private mutating func newLine() {
      output.append(0x0A)
      // Deeper than anybody reads, a page would be little else than spaces.
      output += [UInt8](repeating: 0x20, count: 2 * min(max(0, depth), 32))
    }

    private static func skipSpace(_ json: [UInt8], from start: Int) -> Int {
      var index = start
      while index < json.count, [0x20, 0x09, 0x0A, 0x0D].contains(json[index]) { index += 1 }
      return index
    }

    /// Where the value begins that belongs to a name which ends at `index`; nil if it is no name.
    private static func value(after index: Int, in json: [UInt8]) -> Int? {
      let colon = skipSpace(json, from: index)
      guard colon < json.count, json[colon] == UInt8(ascii: ":") else { return nil }
      return skipSpace(json, from: colon + 1)
    }

    private static func end(ofString json: [UInt8], from start: Int) -> Int {
      var index = start + 1
      while index < json.count, json[index] != UInt8(ascii: "\"") { index += json[index] == UInt8(ascii: "\\") ? 2 : 1 }
      return min(index + 1, json.count)
    }

    private static func end(ofValue json: [UInt8], from start: Int) -> Int {
      var (index, depth) = (start, 0)
      while index < json.count {
        switch json[index] {
        case UInt8(ascii: "\""):
          index = end(ofString: json, from: index)
          if depth == 0 { return index }
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          if depth == 0 { return index }
          depth -= 1
          if depth == 0 { return index + 1 }
        case UInt8(ascii: ",") where depth == 0: return index
        default: break
        }
        index += 1
      }
      return index
    }

    private static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
      let name = String(decoding: name, as: UTF8.self).lowercased()
      return ["password", "secret", "token", "apikey", "api_key", "authorization"].contains { name.contains($0) }
    }
  }
}
