extension Array<UInt8> {
  /// The offset of the first byte that is not UTF-8 text; nil if all is text. Zero bytes do not count as text either,
  /// since Postgres cannot store them.
  var firstByteThatIsNoText: Int? {
    // Most payloads are ASCII, which needs no decoding.
    guard let first = firstIndex(where: { $0 == 0 || $0 >= 0x80 }) else { return nil }
    if self[first] == 0 { return first }
    var place = first
    var decoder = Unicode.UTF8.ForwardParser()
    var rest = self[first...].makeIterator()
    while true {
      switch decoder.parseScalar(from: &rest) {
      case .emptyInput: return nil
      case .error: return place
      case .valid(let bytes):
        if bytes.first == 0 { return place }
        place += bytes.count
      }
    }
  }
}
