import HTTPTypes

/// The head of a response as bytes: collected on the loop, parsed elsewhere.
struct ResponseHead: Sendable {
  private(set) var bytes: [UInt8] = []
  /// Whether the empty line has arrived. Trailers may follow it.
  private(set) var isComplete = false

  /// Appends one line, including its end. A status line starts over: the previous lines belong to another response,
  /// such as a redirect.
  mutating func append(_ line: UnsafeRawBufferPointer) {
    if line.starts(with: Self.beginning) {
      bytes.removeAll(keepingCapacity: true)
      isComplete = false
    } else if line.elementsEqual(Self.emptyLine) || line.elementsEqual(Self.emptyLine.dropFirst()) {
      isComplete = true
    }
    bytes.append(contentsOf: line)
  }

  var isEmpty: Bool { bytes.isEmpty }

  private static let beginning = Array("HTTP/".utf8)
  private static let emptyLine = Array("\r\n".utf8)

  /// The fields of the last response; malformed lines are omitted.
  ///
  /// - Parameter isDecoded: omits the fields that describe the body's encoding on the wire.
  func fields(isDecoded: Bool) -> HTTPFields {
    var fields = HTTPFields()
    for line in bytes.split(separator: UInt8(ascii: "\n")).dropFirst() {
      var line = line
      while let last = line.last, last == UInt8(ascii: "\r") { line.removeLast() }
      // A line that begins with a space continues the previous one: an obsolete form that no server should use.
      guard let first = line.first, first != UInt8(ascii: " "), first != UInt8(ascii: "\t"),
        let colon = line.firstIndex(of: UInt8(ascii: ":")),
        let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
      else { continue }
      fields.append(HTTPField(name: name, value: Self.trimmed(line[(colon + 1)...])))
    }
    if isDecoded, fields[.contentEncoding] != nil {
      fields[.contentEncoding] = nil
      fields[.contentLength] = nil
    }
    return fields
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    let front = bytes.drop(while: isBlank)
    guard let last = front.lastIndex(where: { !isBlank($0) }) else { return [] }
    return front[...last]
  }
}
