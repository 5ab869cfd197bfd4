import CLibPQ

/// Owns one result of libpq: what the rows of one statement are read from.
final class PostgresResult: @unchecked Sendable {
  // `@unchecked Sendable`: once libpq has handed a result over nothing changes it, and the functions called here only
  // read it; it is freed once, when the last reference is gone.
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit { PQclear(pointer) }

  var status: ExecStatusType { PQresultStatus(pointer) }
  var rowCount: Int { Int(PQntuples(pointer)) }
  var columnCount: Int { Int(PQnfields(pointer)) }

  /// How many rows the statement wrote or read; 0 for statements that count none.
  var affected: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

  /// What the server calls the statement that it completed, such as `COMMIT`.
  var tag: String { String(cString: PQcmdStatus(pointer)) }

  func name(of column: Int) -> String { PQfname(pointer, Int32(column)).map { String(cString: $0) } ?? "?" }

  func column(named name: String) -> Int? {
    // libpq folds unquoted names to lower case, as SQL does; names of ours are exact.
    (0..<columnCount).first { self.name(of: $0) == name }
  }

  func cell(row: Int, column: Int) -> PostgresCell {
    let (row, index) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
    let type = PostgresType(oid: PQftype(pointer, index))
    guard PQgetisnull(pointer, row, index) == 0, let start = PQgetvalue(pointer, row, index) else {
      return PostgresCell(self, nil, type, column: column)
    }
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(pointer, row, index)))
    return PostgresCell(self, bytes, type, column: column)
  }

  /// The error that this result is.
  var error: PostgresError {
    let sqlState = field(CChar(UInt8(ascii: "C")))
    let message = field(CChar(UInt8(ascii: "M"))) ?? String(cString: PQresultErrorMessage(pointer)).trimmed
    // DETAIL, CONTEXT and the statement's text may hold values: they are not read.
    return PostgresError(
      sqlState == nil || PostgresError.endsConnection(sqlState) ? .connection : .server,
      PostgresError.withoutValues(message, sqlState: sqlState), sqlState: sqlState,
      constraint: field(CChar(UInt8(ascii: "n"))), table: field(CChar(UInt8(ascii: "t"))))
  }

  /// Why a prepared statement cannot be run. The server says either before it runs anything of it.
  enum StalePlan {
    /// The tables have changed, so that it would return other columns.
    case outdated
    /// The server does not have it, such as after somebody's DISCARD.
    case unknown
  }

  var stalePlan: StalePlan? {
    switch field(CChar(UInt8(ascii: "C"))) {
    case "26000": .unknown
    case "0A000" where field(CChar(UInt8(ascii: "R"))) == "RevalidateCachedQuery": .outdated
    default: nil
    }
  }

  /// One field of an error, by its letter in the protocol (libpq's `PG_DIAG_…`).
  private func field(_ letter: CChar) -> String? {
    PQresultErrorField(pointer, Int32(letter)).map { String(cString: $0) }
  }
}
