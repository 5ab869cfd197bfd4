import Glibc

/// Finds records in a JSON document of any size, in memory that does not grow with it. Blocks on the file.
///
/// The document is walked once. Where a path matches a pattern, the value is a record, which is returned whole, without
/// the collections in it that other patterns find. `__collections__`, which some tools put around collections, is not
/// part of a path. `null`, which fills the gaps of lists, and `false` are no records.
final class JSONStream {
  /// A value whose path matches a pattern.
  struct Record: Sendable {
    let path: [String]
    /// Its JSON; nil if it has more than `maxBytes`.
    let bytes: [UInt8]?
    /// Of its first byte in the file, from 0.
    let offset: Int
    /// Of its first byte, from 1.
    let line: Int
  }

  /// The file cannot be read, or is not JSON.
  struct Failure: Error, CustomStringConvertible {
    let isUnreadable: Bool
    let description: String
  }

  private struct Frame {
    let isObject: Bool
    /// Whether the container added a key to the path.
    let isInPath: Bool
    /// The patterns that the path so far matches.
    let wanted: [RecordPattern]
    let others: [RecordPattern]
    /// Where the record began, if the container is one, and what had been captured of the one around it.
    let record: (offset: Int, line: Int, outer: [UInt8]?)?
    var isFirst = true
    var index = 0
  }

  /// The most bytes of a record.
  static let maxBytes = 1 << 20
  private static let maxKey = 4096
  private static let pieceSize = 1 << 18
  private static let collections = "__collections__"

  let file: String
  let size: Int
  private let wanted: [RecordPattern]
  private let others: [RecordPattern]
  private let descriptor: Int32
  private let buffer: UnsafeMutableRawBufferPointer
  private var filled = 0
  private var position = 0
  /// Of the buffer's first byte in the file.
  private var base = 0
  private(set) var line = 1
  private var frames: [Frame] = []
  private var path: [String] = []
  private var hasBegun = false
  /// The bytes of the record or scalar being read; nil once they are too many.
  private var captured: [UInt8]? = []

  /// - Parameters:
  ///   - wanted: the places of the records to return.
  ///   - others: the places of other records, which are left out of those that contain them.
  init(
    file: String, wanted: [RecordPattern], others: [RecordPattern], pieceSize: Int = JSONStream.pieceSize
  ) throws(Failure) {
    self.file = file
    self.wanted = wanted
    self.others = others
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.unreadable(file) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw Failure(isUnreadable: true, description: "\(file) is not a file")
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
    buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  /// How many bytes have been read.
  var offset: Int { base + position }

  /// The next record; nil after the last.
  func next() throws(Failure) -> Record? {
    if !hasBegun {
      hasBegun = true
      // The mark that some programs write before UTF-8.
      if try peek() == 0xEF { for _ in 0..<3 { try advance() } }
      try skipSpace()
      guard let byte = try peek() else { throw malformed("is empty") }
      guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else { throw malformed("begins with no '{' or '['") }
      try advance()
      frames.append(
        Frame(
          isObject: byte == UInt8(ascii: "{"), isInPath: false, wanted: wanted, others: wanted + others, record: nil))
    }
    while let depth = frames.indices.last {
      if let record = try step(depth) { return record }
    }
    try skipSpace()
    if try peek() != nil { throw malformed("goes on after its end") }
    return nil
  }

  /// Reads the next member of the innermost container, or its end.
  private func step(_ depth: Int) throws(Failure) -> Record? {
    try skipSpace()
    let isObject = frames[depth].isObject
    if try take(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) { return finish() }
    if frames[depth].isFirst {
      frames[depth].isFirst = false
    } else {
      guard try take(UInt8(ascii: ",")) else { throw malformed("lacks a ','") }
      try skipSpace()
    }
    var key = String(frames[depth].index)
    var rawKey: [UInt8] = []
    frames[depth].index += 1
    if isObject {
      rawKey = try readKey()
      guard let name = try? JSONDatum(rawKey).text else { throw malformed("has a key that is not a valid string") }
      key = name
      try skipSpace()
      guard try take(UInt8(ascii: ":")) else { throw malformed("lacks a ':'") }
      try skipSpace()
    }
    guard let byte = try peek() else { throw malformed("ends too early") }
    let isContainer = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
    let frame = frames[depth]
    if isObject, key == Self.collections, isContainer {
      try advance()
      frames.append(
        Frame(
          isObject: byte == UInt8(ascii: "{"), isInPath: false, wanted: frame.wanted, others: frame.others, record: nil
        ))
      return nil
    }
    let place = path.count
    let wanted = frame.wanted.filter { $0.allows(key, at: place) }
    let others = frame.others.filter { $0.allows(key, at: place) }
    let isRecord = wanted.contains { $0.segments.count == place + 1 }
    let holdsRecords = wanted.contains { $0.segments.count > place + 1 }
    if isContainer, isRecord || holdsRecords {
      let start = (offset: offset, line: line, outer: captured)
      try advance()
      path.append(key)
      if isRecord { captured = [byte] }
      frames.append(
        Frame(
          isObject: byte == UInt8(ascii: "{"), isInPath: true, wanted: wanted, others: others,
          record: isRecord ? start : nil))
      return nil
    }
    if isRecord {
      let start = (offset: offset, line: line, outer: captured)
      captured = []
      defer { captured = start.outer }
      try readValue(isCaptured: true)
      if let captured, captured == Array("null".utf8) || captured == Array("false".utf8) { return nil }
      return Record(path: path + [key], bytes: captured, offset: start.offset, line: start.line)
    }
    let isCollection = others.contains { pattern in
      pattern.segments.count > place + 1 && pattern.segments[place] == .key(key)
    }
    guard frame.record != nil, !isCollection else {
      try readValue(isCaptured: false)
      return nil
    }
    capture(separated: rawKey, in: isObject)
    try readValue(isCaptured: true)
    return nil
  }

  /// Ends the innermost container; returns the record that it is.
  private func finish() -> Record? {
    guard let frame = frames.popLast() else { return nil }
    var record: Record?
    if let start = frame.record {
      captured?.append(frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
      record = Record(path: path, bytes: captured, offset: start.offset, line: start.line)
      captured = start.outer
    }
    if frame.isInPath { path.removeLast() }
    return record
  }

  /// Adds what stands before a member's value to the record.
  private func capture(separated key: [UInt8], in isObject: Bool) {
    guard let count = captured?.count else { return }
    if count > 1 { captured?.append(UInt8(ascii: ",")) }
    if isObject {
      captured?.append(contentsOf: key)
      captured?.append(UInt8(ascii: ":"))
    }
  }

  /// Reads a member's name, with its quotes.
  private func readKey() throws(Failure) -> [UInt8] {
    guard try peek() == UInt8(ascii: "\"") else { throw malformed("lacks a name") }
    var key: [UInt8] = [UInt8(ascii: "\"")]
    try advance()
    while let byte = try peek() {
      key.append(byte)
      try advance()
      if byte == UInt8(ascii: "\"") { return key }
      if byte == UInt8(ascii: "\\") {
        guard let escaped = try peek() else { break }
        key.append(escaped)
        try advance()
      }
      guard key.count <= Self.maxKey else { throw malformed("has a name of more than \(Self.maxKey) bytes") }
    }
    throw malformed("ends within a name")
  }

  /// Reads a whole value. Brackets are counted, not kept: nesting costs no memory.
  private func readValue(isCaptured: Bool) throws(Failure) {
    var depth = 0
    var isFirst = true
    while true {
      guard let byte = try peek() else { throw malformed("ends too early") }
      switch byte {
      case UInt8(ascii: "\""):
        try readText(isCaptured: isCaptured)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        try read(byte, isCaptured)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard depth > 0 else {
          if isFirst { throw malformed("lacks a value") }
          return
        }
        depth -= 1
        try read(byte, isCaptured)
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        guard depth > 0 else {
          if isFirst { throw malformed("lacks a value") }
          return
        }
        try read(byte, isCaptured)
      case let byte where Self.isSpace(byte):
        if depth == 0 { return }
        // Records go into files with one on a line.
        try advance()
      default:
        try readWord(isCaptured: isCaptured)
      }
      isFirst = false
      if depth == 0 { return }
    }
  }

  private func read(_ byte: UInt8, _ isCaptured: Bool) throws(Failure) {
    if isCaptured { keep(byte) }
    try advance()
  }

  private func readWord(isCaptured: Bool) throws(Failure) {
    while let byte = try peek() {
      switch byte {
      case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ":"), UInt8(ascii: "\""): return
      case let byte where Self.isSpace(byte): return
      default: try read(byte, isCaptured)
      }
    }
  }

  private func readText(isCaptured: Bool) throws(Failure) {
    try read(UInt8(ascii: "\""), isCaptured)
    while true {
      guard try peek() != nil else { throw malformed("ends within a text") }
      // Most of an export is text, so a run of it is found and kept at once.
      let start = position
      while position < filled, buffer[position] != UInt8(ascii: "\""), buffer[position] != UInt8(ascii: "\\") {
        guard buffer[position] >= 0x20 else { throw malformed("has a control character in a text") }
        position += 1
      }
      if isCaptured, position > start { keep(start..<position) }
      guard position < filled else { continue }
      let byte = buffer[position]
      try read(byte, isCaptured)
      if byte == UInt8(ascii: "\"") { return }
      guard let escaped = try peek() else { throw malformed("ends within a text") }
      try read(escaped, isCaptured)
    }
  }

  private func keep(_ byte: UInt8) {
    captured?.append(byte)
    if let count = captured?.count, count > Self.maxBytes { captured = nil }
  }

  private func keep(_ range: Range<Int>) {
    captured?.append(contentsOf: buffer[range])
    if let count = captured?.count, count > Self.maxBytes { captured = nil }
  }

  // MARK: Bytes

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  private func skipSpace() throws(Failure) {
    while let byte = try peek(), Self.isSpace(byte) { try advance() }
  }

  private func take(_ byte: UInt8) throws(Failure) -> Bool {
    guard try peek() == byte else { return false }
    try advance()
    return true
  }

  /// The next byte; nil at the end.
  private func peek() throws(Failure) -> UInt8? {
    if position == filled {
      base += filled
      position = 0
      filled = 0
      var count = 0
      repeat { count = Glibc.read(descriptor, buffer.baseAddress, buffer.count) } while count < 0 && errno == EINTR
      guard count >= 0 else { throw Self.unreadable(file) }
      filled = count
      if count == 0 { return nil }
    }
    return buffer[position]
  }

  private func advance() throws(Failure) {
    guard let byte = try peek() else { throw malformed("ends too early") }
    if byte == 0x0A { line += 1 }
    position += 1
  }

  private func malformed(_ what: String) -> Failure {
    Failure(
      isUnreadable: false,
      description: "\(file):\(line): the file \(what) (byte \(offset)): export it again, as one JSON document")
  }

  private static func unreadable(_ file: String) -> Failure {
    Failure(isUnreadable: true, description: "cannot read \(file): \(String(cString: strerror(errno)))")
  }
}
