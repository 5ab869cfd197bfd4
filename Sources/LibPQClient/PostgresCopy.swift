/// Writes the rows of one COPY. It sends 64 KiB at a time while the caller produces more; a slow server slows the
/// caller down.
public final class PostgresCopyWriter {
  private let connection: PostgresConnection
  private let columns: Int
  private let timeout: Duration?
  private var buffer = PostgresBuffer()
  private static let piece = 65536

  init(_ connection: PostgresConnection, columns: Int, timeout: Duration?) {
    self.connection = connection
    self.columns = columns
    self.timeout = timeout
    // The binary format begins with a signature, flags and the length of an extension.
    buffer.append("PGCOPY\n".utf8)
    buffer.append([0xff, 0x0d, 0x0a, 0x00])
    buffer.append(Int32(0))
    buffer.append(Int32(0))
  }

  /// Adds a row: one value per column, of exactly the column's type (an `int4` column takes an `Int32`, not an `Int`).
  ///
  /// - Throws: `.configuration` if there are more or fewer values than columns; `.connection`, `.timeout`,
  ///   `.cancelled`.
  @inlinable
  public nonisolated(nonsending) func write<each Value: PostgresEncodable>(_ row: repeat (each Value)?)
    async throws(PostgresError)
  {
    begin()
    var count = 0
    for value in repeat each row {
      append(value)
      count += 1
    }
    if try end(count) { try await send() }
  }

  @usableFromInline
  func begin() { buffer.append(Int16(truncatingIfNeeded: columns)) }

  @usableFromInline
  func append<Value: PostgresEncodable>(_ value: Value?) {
    guard let value else { return buffer.append(Int32(-1)) }
    let start = buffer.count
    buffer.append(Int32(0))
    value.encode(into: &buffer)
    buffer.setLength(at: start)
  }

  /// Ends a row; returns whether there is enough data to send.
  @usableFromInline
  func end(_ count: Int) throws(PostgresError) -> Bool {
    guard count == columns else {
      throw PostgresError(.configuration, "a row of \(count) values for a COPY into \(columns) columns")
    }
    return buffer.count >= Self.piece
  }

  @usableFromInline
  nonisolated(nonsending) func send() async throws(PostgresError) {
    let bytes = buffer.bytes
    buffer.bytes = []
    buffer.bytes.reserveCapacity(Self.piece + 1024)
    try await connection.sendCopy(bytes, timeout: timeout)
  }

  /// Sends the rest and the end marker.
  nonisolated(nonsending) func finish() async throws(PostgresError) {
    buffer.append(Int16(-1))
    try await send()
  }
}

extension PostgresConnection {
  /// Writes rows into a table by binary COPY, the fastest way to load data: either all of them, or none if `body`
  /// throws or the server refuses one (COPY has no ON CONFLICT).
  ///
  /// - Parameters:
  ///   - table: the table's name, optionally qualified with its schema.
  ///   - columns: the columns that rows have values for, in order.
  ///   - timeout: how long the server may take to accept a piece, and to finish.
  /// - Returns: the number of rows written.
  @discardableResult
  public nonisolated(nonsending) func copyIn(
    into table: String, columns: [String], timeout: Duration? = nil,
    _ body: (PostgresCopyWriter) async throws -> Void
  ) async throws -> Int {
    try await copyIn(into: table, columns: columns, timeout, nil, body)
  }

  fileprivate nonisolated(nonsending) func copyIn(
    into table: String, columns: [String], _ timeout: Duration?, _ transaction: TransactionState?,
    _ body: (PostgresCopyWriter) async throws -> Void
  ) async throws -> Int {
    let name = table.split(separator: ".").map { quoted(String($0)) }.joined(separator: ".")
    let list = columns.map(quoted).joined(separator: ", ")
    try await beginCopy("COPY \(name) (\(list)) FROM STDIN (FORMAT binary)", transaction)
    let writer = PostgresCopyWriter(self, columns: columns.count, timeout: timeout)
    do {
      try await body(writer)
      try await writer.finish()
    } catch {
      await giveUpCopy()
      throw error
    }
    return try await endCopy(giveUp: nil, timeout: timeout)
  }

  /// Aborts a COPY; the server's error for it is expected.
  private func giveUpCopy() async {
    do { _ = try await endCopy(giveUp: "aborted by the client", timeout: configuration.cancelTimeout) } catch {
      if error.code != .server { close() }
    }
  }
}

extension PostgresTransaction {
  /// Writes rows into a table by binary COPY, as part of the transaction.
  @discardableResult
  public nonisolated(nonsending) func copyIn(
    into table: String, columns: [String], timeout: Duration? = nil,
    _ body: (PostgresCopyWriter) async throws -> Void
  ) async throws -> Int {
    try await connection.copyIn(into: table, columns: columns, timeout, state, body)
  }

  /// Runs SQL text with one or more statements, without parameters or rows, for migrations.
  public func executeScript(_ sql: String, timeout: Duration? = nil) async throws(PostgresError) {
    try await connection.runScript(sql, timeout, state)
  }
}
