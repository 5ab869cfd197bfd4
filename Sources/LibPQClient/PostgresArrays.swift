import FoundationEssentials

/// A type that array parameters and columns may contain. In binary, an array is five integers (dimensions, whether
/// there are NULLs, the element's type, length, lower bound), then each element, preceded by its length.
public protocol PostgresArrayElement: Sendable {
  /// The array's type, not the element's.
  static var postgresArrayType: PostgresType { get }
  /// Appends the array in the binary format, without its length.
  static func encode(array: [Self], into buffer: inout PostgresBuffer)
  /// Reads an array in the binary format.
  ///
  /// - Throws: `.decoding` for another type, more than one dimension, or a NULL that the element does not allow.
  static func decode(array cell: PostgresCell) throws(PostgresError) -> [Self]
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
  public static var postgresType: PostgresType { Element.postgresArrayType }
  public func encode(into buffer: inout PostgresBuffer) { Element.encode(array: self, into: &buffer) }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
  public init(postgres cell: PostgresCell) throws(PostgresError) { self = try Element.decode(array: cell) }
}

extension PostgresArrayElement where Self: PostgresEncodable & PostgresDecodable {
  public static func encode(array: [Self], into buffer: inout PostgresBuffer) {
    buffer.appendArrayHeader(count: array.count, element: postgresType, hasNull: false)
    for element in array {
      buffer.appendField {
        element.encode(into: &$0)
        return true
      }
    }
  }

  public static func decode(array cell: PostgresCell) throws(PostgresError) -> [Self] {
    try cell.elements("[\(Self.self)]") { element throws(PostgresError) in try Self(postgres: element) }
  }
}

/// Arrays with NULLs.
extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement & PostgresEncodable & PostgresDecodable {
  public static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }

  public static func encode(array: [Wrapped?], into buffer: inout PostgresBuffer) {
    let hasNull = array.contains { $0 == nil }
    buffer.appendArrayHeader(count: array.count, element: Wrapped.postgresType, hasNull: hasNull)
    for element in array {
      buffer.appendField {
        element?.encode(into: &$0)
        return element != nil
      }
    }
  }

  public static func decode(array cell: PostgresCell) throws(PostgresError) -> [Wrapped?] {
    try cell.elements("[\(Wrapped.self)?]") { element throws(PostgresError) in try Wrapped?(postgres: element) }
  }
}

extension Bool: PostgresArrayElement { public static var postgresArrayType: PostgresType { .boolArray } }
extension Int16: PostgresArrayElement { public static var postgresArrayType: PostgresType { .int2Array } }
extension Int32: PostgresArrayElement { public static var postgresArrayType: PostgresType { .int4Array } }
extension Double: PostgresArrayElement { public static var postgresArrayType: PostgresType { .float8Array } }
extension String: PostgresArrayElement { public static var postgresArrayType: PostgresType { .textArray } }
extension Date: PostgresArrayElement { public static var postgresArrayType: PostgresType { .timestamptzArray } }
extension UUID: PostgresArrayElement { public static var postgresArrayType: PostgresType { .uuidArray } }
extension PostgresUUID: PostgresArrayElement { public static var postgresArrayType: PostgresType { .uuidArray } }
extension PostgresJSON: PostgresArrayElement { public static var postgresArrayType: PostgresType { .jsonbArray } }

/// The arrays that carry batches: filled in one pass.
extension Int64: PostgresArrayElement {
  public static var postgresArrayType: PostgresType { .int8Array }
  public static func encode(array: [Int64], into buffer: inout PostgresBuffer) { buffer.appendArray(array) { $0 } }
}

extension Int: PostgresArrayElement {
  public static var postgresArrayType: PostgresType { .int8Array }
  public static func encode(array: [Int], into buffer: inout PostgresBuffer) { buffer.appendArray(array) { Int64($0) } }
}

/// `[UInt8]` is not an array but a `bytea`.
extension UInt8: PostgresArrayElement {
  public static var postgresArrayType: PostgresType { .bytea }
  public static func encode(array: [UInt8], into buffer: inout PostgresBuffer) { buffer.append(array) }
  public static func decode(array cell: PostgresCell) throws(PostgresError) -> [UInt8] {
    guard cell.type == .bytea else { throw cell.mismatch("[UInt8]") }
    return try cell.withBytes { Array($0) }
  }
}

/// `[[UInt8]]` is `bytea[]`.
extension Array: PostgresArrayElement where Element == UInt8 {
  public static var postgresArrayType: PostgresType { .byteaArray }
}

extension PostgresBuffer {
  mutating func appendArrayHeader(count: Int, element: PostgresType, hasNull: Bool) {
    // An empty array has no dimensions.
    append(Int32(count == 0 ? 0 : 1))
    append(Int32(hasNull ? 1 : 0))
    append(element.oid)
    guard count > 0 else { return }
    append(Int32(count))
    append(Int32(1))
  }

  fileprivate mutating func appendArray<Element>(_ array: [Element], _ value: (Element) -> Int64) {
    appendArrayHeader(count: array.count, element: .int8, hasNull: false)
    let length = UInt32(8).bigEndian
    appendUninitialized(array.count * 12) { target in
      var offset = 0
      for element in array {
        target.storeBytes(of: length, toByteOffset: offset, as: UInt32.self)
        target.storeBytes(of: value(element).bigEndian, toByteOffset: offset + 4, as: Int64.self)
        offset += 12
      }
    }
  }
}
