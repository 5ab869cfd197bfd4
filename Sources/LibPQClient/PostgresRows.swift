/// A statement's result: its rows, decoded on demand from the server's reply, and the number of rows affected.
public struct PostgresRows: RandomAccessCollection, Sendable {
  let result: PostgresResult
  public let startIndex = 0
  public let endIndex: Int

  init(_ result: PostgresResult) {
    self.result = result
    endIndex = result.rowCount
  }

  /// The number of rows that an INSERT, UPDATE, DELETE or MERGE wrote, or a SELECT read.
  public var affected: Int { result.affected }

  public subscript(index: Int) -> PostgresRow {
    precondition(index >= 0 && index < endIndex, "row \(index) of \(endIndex)")
    return PostgresRow(result: result, index: index)
  }

  /// The only column of all rows.
  ///
  /// - Throws: `.decoding` if there are more columns, or the type does not fit.
  public func decode<Value: PostgresDecodable>(_: Value.Type) throws(PostgresError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    for index in 0..<endIndex { values.append(try self[index].decode(Value.self)) }
    return values
  }

  /// All rows as tuples.
  ///
  /// - Throws: `.decoding` if the columns do not match `types`.
  @inlinable
  public func decode<each Column: PostgresDecodable>(
    _ types: repeat (each Column).Type
  ) throws(PostgresError) -> [(repeat each Column)] {
    var rows: [(repeat each Column)] = []
    rows.reserveCapacity(count)
    for index in 0..<endIndex { rows.append(try self[index].decode(repeat each types)) }
    return rows
  }
}

/// One row. It keeps the whole result alive: copy the values to keep.
public struct PostgresRow: Sendable {
  let result: PostgresResult
  let index: Int

  /// The number of columns.
  public var count: Int { result.columnCount }

  /// A value by its index, from 0; traps if out of range.
  public subscript(column: Int) -> PostgresCell {
    precondition(column >= 0 && column < count, "column \(column) of \(count)")
    return result.cell(row: index, column: column)
  }

  /// The row's only column.
  ///
  /// - Throws: `.decoding` if there are more columns, or the type does not fit.
  public func decode<Value: PostgresDecodable>(_: Value.Type) throws(PostgresError) -> Value {
    try check(columns: 1)
    return try Value(postgres: cell(0))
  }

  /// The row's columns, in order, as a tuple.
  ///
  /// - Throws: `.decoding` if there are more or fewer columns than types, or one does not fit.
  @inlinable
  public func decode<each Column: PostgresDecodable>(
    _ types: repeat (each Column).Type
  ) throws(PostgresError) -> (repeat each Column) {
    var wanted = 0
    for _ in repeat each types { wanted += 1 }
    try check(columns: wanted)
    var column = 0
    return (repeat try next(each types, &column))
  }

  /// The column called `name`.
  ///
  /// - Throws: `.decoding` if there is none, or the type does not fit.
  public func decode<Value: PostgresDecodable>(_: Value.Type, named name: String) throws(PostgresError) -> Value {
    guard let column = result.column(named: name) else {
      throw PostgresError(.decoding, "the row has no column \(name)")
    }
    return try Value(postgres: self[column])
  }

  @inlinable
  func next<Value: PostgresDecodable>(_: Value.Type, _ column: inout Int) throws(PostgresError) -> Value {
    defer { column += 1 }
    return try Value(postgres: cell(column))
  }

  @usableFromInline
  func cell(_ column: Int) -> PostgresCell { result.cell(row: index, column: column) }

  @usableFromInline
  func check(columns wanted: Int) throws(PostgresError) {
    guard wanted == count else {
      throw PostgresError(.decoding, "the row has \(count) columns where \(wanted) are read")
    }
  }
}

extension [PostgresRows] {
  /// The rows of a request with one statement.
  var only: PostgresRows {
    get throws(PostgresError) {
      guard let rows = first, count == 1 else {
        throw PostgresError(.connection, "the server returned \(count) results for one statement")
      }
      return rows
    }
  }
}
