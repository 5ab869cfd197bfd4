/// Masks the secret values of a payload: those under names that indicate a secret.
///
/// Display and search share this mask and its names. Otherwise a search would reveal, letter by letter, what no page
/// shows.
public enum SecretFields {
  /// A field is secret if its name contains one of these, in either case.
  ///
  /// A search makes Postgres return every payload that contains one of them.
  static let words = ["password", "secret", "token", "apikey", "api_key", "authorization", "email"]
  private static let mask = Array(#""••••••""#.utf8)
  private static let needles = words.map { Array($0.utf8) }

  /// Returns JSON with each secret value masked and every other byte unchanged. It also takes incomplete JSON and text
  /// that is not JSON.
  public static func masked(_ json: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(json.count)
    var index = 0
    while index < json.count {
      guard json[index] == UInt8(ascii: "\"") else {
        output.append(json[index])
        index += 1
        continue
      }
      let end = JSONText.end(ofString: json, from: index)
      let string = json[index..<end]
      output += string
      index = end
      if let value = value(after: end, in: json), isSecret(string) {
        output += json[end..<value]
        output += mask
        index = Self.end(ofValue: json, from: value)
      }
    }
    return output
  }

  /// Only the letters A to Z are lowercased, as `lower` does with collation C, so that both agree.
  private static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
    let name = name.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }
    return needles.contains { name.place(of: $0) != nil }
  }

  /// The start of the value whose name ends at `index`; nil if that is not a name.
  private static func value(after index: Int, in json: [UInt8]) -> Int? {
    let colon = JSONText.skipSpace(json, from: index)
    guard colon < json.count, json[colon] == UInt8(ascii: ":") else { return nil }
    return JSONText.skipSpace(json, from: colon + 1)
  }

  private static func end(ofValue json: [UInt8], from start: Int) -> Int {
    var (index, depth) = (start, 0)
    while index < json.count {
      switch json[index] {
      case UInt8(ascii: "\""):
        index = JSONText.end(ofString: json, from: index)
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
}
