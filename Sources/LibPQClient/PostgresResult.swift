import CLibPQ

/// Owns one libpq result, which holds a statement's rows.
final class PostgresResult: @unchecked Sendable {
  // `@unchecked Sendable`: libpq does not change a result after returning it, and the functions called here only read
  // it; it is freed once, with the last reference.
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  deinit { PQclear(pointer) }

  var status: ExecStatusType { PQresultStatus(pointer) }
  var rowCount: Int { Int(PQntuples(pointer)) }
  var columnCount: Int { Int(PQnfields(pointer)) }

  /// The number of rows written or read; 0 for statements without a count.
  var affected: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

  /// The server's command tag, such as `COMMIT`.
  var tag: String { String(cString: PQcmdStatus(pointer)) }

  func name(of column: Int) -> String { PQfname(pointer, Int32(column)).map { String(cString: $0) } ?? "?" }

  func column(named name: String) -> Int? {
    // libpq folds unquoted names to lowercase, as SQL does; here names match exactly.
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

  /// The error in this result.
  var error: PostgresError {
    let sqlState = field(CChar(UInt8(ascii: "C")))
    let message = field(CChar(UInt8(ascii: "M"))) ?? String(cString: PQresultErrorMessage(pointer)).trimmed
    // DETAIL, CONTEXT and the statement's text may contain values, so they are not read.
    return PostgresError(
      sqlState == nil || PostgresError.endsConnection(sqlState) ? .connection : .server,
      PostgresError.withoutValues(message, sqlState: sqlState), sqlState: sqlState,
      constraint: field(CChar(UInt8(ascii: "n"))), table: field(CChar(UInt8(ascii: "t"))))
  }

  /// The reason why a prepared statement cannot run. The server reports either before running it.
  enum StalePlan {
    /// The tables have changed, so that it would return different columns.
    case outdated
    /// The server does not have it, for example after a DISCARD.
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
