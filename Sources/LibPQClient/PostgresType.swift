/// A Postgres type, by its catalog number (`pg_type.oid`; the built-in ones never change).
public struct PostgresType: Hashable, Sendable, CustomStringConvertible {
  public let oid: UInt32
  public init(oid: UInt32) { self.oid = oid }

  public static let bool = PostgresType(oid: 16)
  public static let bytea = PostgresType(oid: 17)
  public static let char = PostgresType(oid: 18)
  public static let name = PostgresType(oid: 19)
  public static let int8 = PostgresType(oid: 20)
  public static let int2 = PostgresType(oid: 21)
  public static let int4 = PostgresType(oid: 23)
  public static let text = PostgresType(oid: 25)
  public static let oid = PostgresType(oid: 26)
  public static let json = PostgresType(oid: 114)
  public static let float4 = PostgresType(oid: 700)
  public static let float8 = PostgresType(oid: 701)
  public static let unknown = PostgresType(oid: 705)
  public static let bpchar = PostgresType(oid: 1042)
  public static let varchar = PostgresType(oid: 1043)
  public static let date = PostgresType(oid: 1082)
  public static let timestamp = PostgresType(oid: 1114)
  public static let timestamptz = PostgresType(oid: 1184)
  public static let interval = PostgresType(oid: 1186)
  public static let numeric = PostgresType(oid: 1700)
  public static let void = PostgresType(oid: 2278)
  public static let uuid = PostgresType(oid: 2950)
  public static let jsonb = PostgresType(oid: 3802)

  public static let boolArray = PostgresType(oid: 1000)
  public static let byteaArray = PostgresType(oid: 1001)
  public static let int2Array = PostgresType(oid: 1005)
  public static let int4Array = PostgresType(oid: 1007)
  public static let textArray = PostgresType(oid: 1009)
  public static let int8Array = PostgresType(oid: 1016)
  public static let float8Array = PostgresType(oid: 1022)
  public static let timestamptzArray = PostgresType(oid: 1185)
  public static let uuidArray = PostgresType(oid: 2951)
  public static let jsonbArray = PostgresType(oid: 3807)

  /// An array's element type; nil if it is not a supported array type.
  var element: PostgresType? { Self.elements[self] }

  private static let elements: [PostgresType: PostgresType] = [
    .boolArray: .bool, .byteaArray: .bytea, .int2Array: .int2, .int4Array: .int4, .textArray: .text, .int8Array: .int8,
    .float8Array: .float8, .timestamptzArray: .timestamptz, .uuidArray: .uuid, .jsonbArray: .jsonb,
  ]

  private static let names: [PostgresType: String] = [
    .bool: "bool", .bytea: "bytea", .name: "name", .int8: "int8", .int2: "int2", .int4: "int4", .text: "text",
    .oid: "oid",
    .json: "json", .float4: "float4", .float8: "float8", .bpchar: "char(n)", .varchar: "varchar", .date: "date",
    .timestamp: "timestamp", .timestamptz: "timestamptz", .interval: "interval", .numeric: "numeric", .void: "void",
    .uuid: "uuid", .jsonb: "jsonb",
  ]

  public var description: String {
    Self.names[self] ?? element.map { "\($0)[]" } ?? "type \(oid)"
  }
}
