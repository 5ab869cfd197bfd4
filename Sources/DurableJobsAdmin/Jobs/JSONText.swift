/// Finds where elements end in JSON read as bytes, which may be incomplete.
public enum JSONText {
  /// The first byte from `start` that is not white space; the count if there is none.
  public static func skipSpace(_ json: [UInt8], from start: Int) -> Int {
    var index = start
    while index < json.count, [0x20, 0x09, 0x0A, 0x0D].contains(json[index]) { index += 1 }
    return index
  }

  /// The index past the string that begins at `start`, quotes included; the count if it does not end.
  public static func end(ofString json: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < json.count, json[index] != UInt8(ascii: "\"") { index += json[index] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(index + 1, json.count)
  }
}
