extension String {
  /// The text with everything but RFC 3986's unreserved characters as `%XX`, in upper case.
  ///
  /// - Parameter kept: another character to leave unencoded.
  func percentEncoded(keeping kept: Character? = nil) -> String {
    var result: [UInt8] = []
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.append(byte)
      case _ where byte == kept?.asciiValue: result.append(byte)
      default:
        result.append(UInt8(ascii: "%"))
        for digit in [byte >> 4, byte & 15] { result.append(digit < 10 ? 0x30 + digit : 0x41 + digit - 10) }
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
