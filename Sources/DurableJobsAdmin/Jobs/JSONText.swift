/// Where things end in JSON that is read as bytes, a part of some too.
public enum JSONText {
  /// The first byte from `start` on that is no white space; the count where there is none.
  public static func skipSpace(_ json: [UInt8], from start: Int) -> Int {
    var index = start
    while index < json.count, [0x20, 0x09, 0x0A, 0x0D].contains(json[index]) { index += 1 }
    return index
  }

  /// Past the string that begins at `start`, with its quotes; the count where it does not end.
  public static func end(ofString json: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < json.count, json[index] != UInt8(ascii: "\"") { index += json[index] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(index + 1, json.count)
  }
}
