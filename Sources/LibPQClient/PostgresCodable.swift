/// A value that can be sent as a parameter, in binary.
public protocol PostgresEncodable: Sendable {
  /// The parameter's type in the statement.
  static var postgresType: PostgresType { get }
  /// Appends the value in its type's binary format, without its length.
  func encode(into buffer: inout PostgresBuffer)
}

/// A value that can be decoded from a column.
public protocol PostgresDecodable: Sendable {
  /// - Throws: `.decoding` if the column's type or value does not fit.
  init(postgres cell: PostgresCell) throws(PostgresError)
}

/// NULL decodes as nil.
extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    self = cell.isNull ? nil : try Wrapped(postgres: cell)
  }
}

extension Bool: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .bool }
  public func encode(into buffer: inout PostgresBuffer) { buffer.append(UInt8(self ? 1 : 0)) }
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    guard cell.type == .bool else { throw cell.mismatch("Bool") }
    self = try cell.integer(UInt8.self, as: "Bool") != 0
  }
}

extension Int16: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .int2 }
  public func encode(into buffer: inout PostgresBuffer) { buffer.append(self) }
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    guard cell.type == .int2 else { throw cell.mismatch("Int16") }
    self = try cell.integer(Int16.self, as: "Int16")
  }
}

extension Int32: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .int4 }
  public func encode(into buffer: inout PostgresBuffer) { buffer.append(self) }
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    switch cell.type {
    case .int4: self = try cell.integer(Int32.self, as: "Int32")
    case .int2: self = Int32(try cell.integer(Int16.self, as: "Int32"))
    default: throw cell.mismatch("Int32")
    }
  }
}

extension Int64: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .int8 }
  public func encode(into buffer: inout PostgresBuffer) { buffer.append(self) }
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    switch cell.type {
    case .int8: self = try cell.integer(Int64.self, as: "Int64")
    case .int4: self = Int64(try cell.integer(Int32.self, as: "Int64"))
    case .int2: self = Int64(try cell.integer(Int16.self, as: "Int64"))
    case .oid: self = Int64(try cell.integer(UInt32.self, as: "Int64"))
    default: throw cell.mismatch("Int64")
    }
  }
}

/// An `int8`; also reads `int2`, `int4` and `oid`. A sum of `int8` is `numeric`: cast it.
extension Int: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .int8 }
  public func encode(into buffer: inout PostgresBuffer) { buffer.append(Int64(self)) }
  public init(postgres cell: PostgresCell) throws(PostgresError) { self = Int(try Int64(postgres: cell)) }
}

extension Double: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .float8 }
  public func encode(into buffer: inout PostgresBuffer) { buffer.append(bitPattern) }
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    switch cell.type {
    case .float8: self = Double(bitPattern: try cell.integer(UInt64.self, as: "Double"))
    case .float4: self = Double(Float(bitPattern: try cell.integer(UInt32.self, as: "Double")))
    default: throw cell.mismatch("Double")
    }
  }
}

/// A `text`; also reads the other text types, enums, user-defined domains, and JSON as its text.
extension String: PostgresEncodable, PostgresDecodable {
  public static var postgresType: PostgresType { .text }
  public func encode(into buffer: inout PostgresBuffer) { buffer.append(utf8) }
  public init(postgres cell: PostgresCell) throws(PostgresError) {
    switch cell.type {
    case .text, .varchar, .bpchar, .name, .unknown, .char, .json:
      self = try cell.withBytes { String(decoding: $0, as: UTF8.self) }
    case .jsonb: self = String(decoding: try PostgresJSON(postgres: cell).bytes, as: UTF8.self)
    // Most types created in this database, such as enums, are sent as text; their oids start at 16384.
    case let type where type.oid >= 16384: self = try cell.withBytes { String(decoding: $0, as: UTF8.self) }
    default: throw cell.mismatch("String")
    }
  }
}

/// JSON as text: sent as `jsonb`, read from `jsonb` or `json`.
public struct PostgresJSON: Hashable, Sendable, PostgresEncodable, PostgresDecodable {
  /// The document's text in UTF-8.
  public var bytes: [UInt8]

  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  public init(_ text: String) { bytes = Array(text.utf8) }

  public static var postgresType: PostgresType { .jsonb }

  public func encode(into buffer: inout PostgresBuffer) {
    // In binary, jsonb is a version number, 1, followed by the text.
    buffer.append(UInt8(1))
    buffer.append(bytes)
  }

  public init(postgres cell: PostgresCell) throws(PostgresError) {
    guard cell.type == .jsonb || cell.type == .json else { throw cell.mismatch("PostgresJSON") }
    let skipped = cell.type == .jsonb ? 1 : 0
    bytes = try cell.withBytes { Array($0.dropFirst(skipped)) }
  }
}
