import DurableJobsAdmin
import Foundation

/// A payload for display on a job's page.
struct PayloadText {
  /// The number of bytes shown; the rest is cut off.
  static let limit = 64 * 1024

  /// The text, indented if it is JSON.
  let text: String
  /// The payload's full size as text; nil if all of it is shown.
  let cutFrom: String?

  init(_ payload: String) {
    let isLong = payload.utf8.count > Self.limit
    cutFrom = isLong ? PageFormat.bytes(payload.utf8.count) : nil
    // Secrets are masked in a truncated payload too, and in text that Foundation does not accept as JSON, since its
    // parser has limits that JSON does not.
    let shown = SecretFields.masked(Array(payload.utf8.prefix(Self.limit)))
    guard Self.isJSON(payload) else {
      text = String(decoding: shown, as: UTF8.self)
      return
    }
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

  /// Indents JSON without parsing its values: a number stays as it was written.
  private struct Printer {
    private var output: [UInt8] = []
    private var depth = 0

    mutating func print(_ json: [UInt8]) -> String {
      var index = 0
      while index < json.count {
        let byte = json[index]
        switch byte {
        case UInt8(ascii: "\""):
          let end = JSONText.end(ofString: json, from: index)
          output += json[index..<end]
          index = end
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          let next = JSONText.skipSpace(json, from: index + 1)
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
      // The indentation is capped, since deeper levels would be mostly spaces.
      output += [UInt8](repeating: 0x20, count: 2 * min(max(0, depth), 32))
    }
  }
}
