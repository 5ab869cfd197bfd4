/// The name of a table, column or schema, quoted, so that any text is one name. It becomes part of the SQL, where a
/// parameter cannot stand:
///
///     let table = PostgresIdentifier("jobs", in: "queue")
///     let query: PostgresQuery = "SELECT count(*) FROM \(table)"
public struct PostgresIdentifier: Sendable, Hashable, CustomStringConvertible {
  /// The quoted name, as SQL takes it.
  public let sql: String

  /// - Parameters:
  ///   - name: without quotes.
  ///   - schema: the schema that holds it; nil leaves that to `search_path`.
  public init(_ name: String, in schema: String? = nil) {
    sql = (schema.map { Self.quote($0) + "." } ?? "") + Self.quote(name)
  }

  public var description: String { sql }

  private static func quote(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }
}

extension PostgresQuery.StringInterpolation {
  /// A name, as part of the SQL.
  public mutating func appendInterpolation(_ identifier: PostgresIdentifier) { appendLiteral(identifier.sql) }
}
