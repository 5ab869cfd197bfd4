/// A statement with its parameters. Interpolated values are sent separately from the SQL, in binary, and cannot become
/// part of it:
///
///     let query: PostgresQuery = "SELECT username FROM accounts WHERE id = \(id) AND created_at > \(date)"
///
/// The SQL is then `… WHERE id = $1 AND created_at > $2`, the same for all values, so that it is prepared once per
/// connection.
public struct PostgresQuery: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
  /// The statement, with `$1`, `$2` … in place of parameters.
  public internal(set) var sql: String
  var parameters = PostgresParameters()

  public init(stringLiteral sql: String) { self.sql = sql }

  /// A statement whose text the program composes: never include user input.
  public init(unescaped sql: String, _ parameters: [(any PostgresEncodable)?] = []) {
    self.sql = sql
    for parameter in parameters {
      if let parameter { self.parameters.append(parameter) } else { self.parameters.appendNull() }
    }
  }

  public init(stringInterpolation: StringInterpolation) {
    sql = stringInterpolation.sql
    parameters = stringInterpolation.parameters
  }

  /// The SQL, without parameter values.
  public var description: String { sql }

  public struct StringInterpolation: StringInterpolationProtocol {
    var sql = ""
    var parameters = PostgresParameters()

    public init(literalCapacity: Int, interpolationCount: Int) {
      sql.reserveCapacity(literalCapacity + 3 * interpolationCount)
      parameters.reserve(interpolationCount)
    }

    public mutating func appendLiteral(_ literal: String) { sql += literal }

    /// A parameter.
    public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value) {
      parameters.append(value)
      appendPlace()
    }

    /// A parameter that may be NULL.
    public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
      if let value { parameters.append(value) } else { parameters.appendNull(Value.postgresType) }
      appendPlace()
    }

    /// Literal SQL, such as the name of one of our tables: never include user input.
    public mutating func appendInterpolation(unescaped text: String) { sql += text }

    /// A part of a statement, with its parameters.
    public mutating func appendInterpolation(_ part: PostgresQuery) {
      let before = parameters.count
      parameters.append(contentsOf: part.parameters)
      if before == 0 {
        sql += part.sql
        return
      }
      // Each placeholder's number grows by the number of parameters before the part.
      var rest = part.sql[...]
      while let place = rest.firstIndex(of: "$") {
        let digits = rest[rest.index(after: place)...].prefix { $0.isASCII && $0.isNumber }
        sql += rest[...place]
        if let number = Int(digits) { sql += String(number + before) }
        rest = rest[digits.endIndex...]
      }
      sql += rest
    }

    private mutating func appendPlace() {
      sql += "$"
      sql += String(parameters.count)
    }
  }
}

/// Parameters in the binary format, one after another.
struct PostgresParameters: Sendable {
  struct Entry: Sendable {
    var start: Int
    /// -1 for NULL.
    var length: Int
  }

  private(set) var types: [UInt32] = []
  private(set) var entries: [Entry] = []
  private(set) var buffer = PostgresBuffer()

  var count: Int { entries.count }

  mutating func reserve(_ count: Int) {
    types.reserveCapacity(count)
    entries.reserveCapacity(count)
  }

  mutating func append<Value: PostgresEncodable>(_ value: Value) {
    let start = buffer.count
    value.encode(into: &buffer)
    types.append(Value.postgresType.oid)
    entries.append(Entry(start: start, length: buffer.count - start))
  }

  mutating func append(contentsOf others: PostgresParameters) {
    for place in others.entries.indices {
      var entry = others.entries[place]
      entry.start += buffer.count
      entries.append(entry)
    }
    types += others.types
    buffer.append(others.buffer.bytes)
  }

  /// Appends a NULL; without a type, the server infers one.
  mutating func appendNull(_ type: PostgresType = PostgresType(oid: 0)) {
    types.append(type.oid)
    entries.append(Entry(start: 0, length: -1))
  }
}
