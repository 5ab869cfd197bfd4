/// One column of a row, or one element of an array, as sent by the server.
public struct PostgresCell {
  /// Keeps `bytes` alive.
  private let result: PostgresResult
  private let bytes: UnsafeRawBufferPointer?
  public let type: PostgresType
  let column: Int

  init(_ result: PostgresResult, _ bytes: UnsafeRawBufferPointer?, _ type: PostgresType, column: Int) {
    self.result = result
    self.bytes = bytes
    self.type = type
    self.column = column
  }

  public var isNull: Bool { bytes == nil }

  /// The value's size in bytes; 0 for NULL.
  public var count: Int { bytes?.count ?? 0 }

  /// Calls `body` with the value's bytes, which are valid only during the call.
  ///
  /// - Throws: `.decoding` for NULL.
  public func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) throws(PostgresError) -> Value {
    guard let bytes else {
      throw PostgresError(.decoding, "column \(name) is NULL where a value is expected: read it as an optional")
    }
    // The optimizer may end the life of `result` after its last use, which would free the bytes under `body`.
    return withExtendedLifetime(result) { body(bytes) }
  }

  /// The value as a big-endian integer of exactly this size.
  func integer<Value: FixedWidthInteger>(_: Value.Type, as wanted: StaticString) throws(PostgresError) -> Value {
    guard
      let value = try withBytes({ bytes in
        bytes.count == MemoryLayout<Value>.size ? Value(bigEndian: bytes.loadUnaligned(as: Value.self)) : nil
      })
    else { throw mismatch("\(wanted)") }
    return value
  }

  /// An error with the column's type and the requested one.
  public func mismatch(_ wanted: String) -> PostgresError {
    if isNull {
      return PostgresError(.decoding, "column \(name) is NULL where a \(wanted) is expected: read it as an optional")
    }
    let hint = type == .numeric ? "; cast it in the statement, such as ::int8" : ""
    return PostgresError(.decoding, "column \(name) is \(type), which cannot be read as \(wanted)\(hint)")
  }

  var name: String { "\(column + 1) (\(result.name(of: column)))" }

  /// The elements of a one-dimensional array.
  ///
  /// - Parameters:
  ///   - wanted: the requested type, for an error.
  ///   - element: decodes an element from its cell.
  func elements<Element>(
    _ wanted: @autoclosure () -> String, _ element: (PostgresCell) throws(PostgresError) -> Element
  ) throws(PostgresError) -> [Element] {
    guard let elementType = type.element else { throw mismatch(wanted()) }
    guard let bytes else {
      throw PostgresError(.decoding, "column \(name) is NULL where a \(wanted()) is expected: read it as an optional")
    }
    // As in `withBytes`.
    defer { withExtendedLifetime(result) {} }
    var reader = Reader(bytes: bytes)
    guard let dimensions = reader.next(), reader.next() != nil, reader.next() != nil else { throw mismatch(wanted()) }
    if dimensions == 0 { return [] }
    guard dimensions == 1 else {
      throw PostgresError(
        .decoding, "column \(name) is an array of several dimensions, which cannot be read as \(wanted())")
    }
    guard let count = reader.next(), count >= 0, reader.next() != nil else { throw mismatch(wanted()) }
    var elements: [Element] = []
    elements.reserveCapacity(Int(count))
    for _ in 0..<count {
      guard let length = reader.next(), let slice = reader.slice(Int(length)) else { throw mismatch(wanted()) }
      elements.append(try element(PostgresCell(result, length < 0 ? nil : slice, elementType, column: column)))
    }
    return elements
  }

  private struct Reader {
    var bytes: UnsafeRawBufferPointer
    var offset = 0

    mutating func next() -> Int32? {
      guard offset + 4 <= bytes.count else { return nil }
      defer { offset += 4 }
      return Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self))
    }

    /// The next `count` bytes; nil for a negative count, which means NULL.
    mutating func slice(_ count: Int) -> UnsafeRawBufferPointer? {
      guard offset + max(0, count) <= bytes.count else { return nil }
      defer { offset += max(0, count) }
      return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + max(0, count)])
    }
  }
}
