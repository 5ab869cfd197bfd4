/// The quoted name of a table, column or schema, for positions where SQL allows no parameter. Any text becomes a single
/// name:
///
///     let table = PostgresIdentifier("jobs", in: "queue")
///     let query: PostgresQuery = "SELECT count(*) FROM \(table)"
public struct PostgresIdentifier: Sendable, Hashable, CustomStringConvertible {
  /// The quoted name in SQL.
  public let sql: String

  /// - Parameters:
  ///   - name: without quotes.
  ///   - schema: the schema that contains it; nil to use `search_path`.
  public init(_ name: String, in schema: String? = nil) {
    sql = (schema.map { Self.quote($0) + "." } ?? "") + Self.quote(name)
  }

  public var description: String { sql }

  private static func quote(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }
}

extension PostgresQuery.StringInterpolation {
  /// A name, inserted into the SQL.
  public mutating func appendInterpolation(_ identifier: PostgresIdentifier) { appendLiteral(identifier.sql) }
}
