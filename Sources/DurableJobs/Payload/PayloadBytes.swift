extension Array<UInt8> {
  /// Where the first byte stands that is not part of text in UTF-8, counted from 0; nil for text. A zero byte is no
  /// text either: Postgres keeps none.
  var firstByteThatIsNoText: Int? {
    // Most payloads are ASCII: one pass without decoding.
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
