/// The failure of a statement, a connection or a pool.
///
/// It never contains a parameter's value: the server's DETAIL and CONTEXT, which may contain values, are omitted, and
/// so is quoted text in messages about data.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The connection failed or was lost. Whether a running statement took effect is unknown.
    public static let connection = Code(description: "connection")
    /// No result in time. The connection was closed.
    public static let timeout = Code(description: "timeout")
    /// The task was cancelled; the statement was stopped or never started.
    public static let cancelled = Code(description: "cancelled")
    /// The server refused the statement; `sqlState` has the reason.
    public static let server = Code(description: "server")
    /// A value does not fit the requested type.
    public static let decoding = Code(description: "decoding")
    /// No pool connection was released within the wait limit.
    public static let poolExhausted = Code(description: "pool exhausted")
    /// The transaction was used after its end.
    public static let transactionEnded = Code(description: "transaction ended")
    /// The connection was lost during COMMIT: the transaction may or may not have taken effect; check before repeating
    /// it.
    public static let outcomeUnknown = Code(description: "outcome unknown")
    /// An invalid URL or argument.
    public static let configuration = Code(description: "configuration")
  }

  public let code: Code
  public let message: String
  /// The server's five-character error code, such as `23505` for a unique violation.
  public let sqlState: String?
  /// The violated constraint, if any.
  public let constraint: String?
  /// The table that the error concerns, if any.
  public let table: String?

  public init(
    _ code: Code, _ message: String, sqlState: String? = nil, constraint: String? = nil, table: String? = nil
  ) {
    self.code = code
    self.message = message
    self.sqlState = sqlState
    self.constraint = constraint
    self.table = table
  }

  /// Whether the server denies access, or lacks the database: a retry is pointless.
  public var isRefusal: Bool {
    code == .connection && (sqlState?.hasPrefix("28") == true || sqlState == "3D000")
  }

  public var description: String {
    var notes: [String] = []
    if let sqlState { notes.append("SQLSTATE \(sqlState)") }
    if let table { notes.append("table \(table)") }
    if let constraint { notes.append("constraint \(constraint)") }
    return "Postgres, \(code): \(message)" + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
  }
}

extension PostgresError {
  /// `message` without the values that messages about data (SQLSTATE class 22) quote.
  static func withoutValues(_ message: String, sqlState: String?) -> String {
    guard let sqlState, sqlState.hasPrefix("22"), let first = message.firstIndex(of: "\""),
      let last = message.lastIndex(of: "\""), first < last
    else { return message }
    return message[...first] + "…" + message[last...]
  }

  /// States that mean the end of the connection, not only of the statement.
  static func endsConnection(_ sqlState: String?) -> Bool {
    guard let sqlState else { return false }
    // 08P01 is also the error for a value of the wrong width, after which the session continues.
    return (sqlState.hasPrefix("08") && sqlState != "08P01") || ["57P01", "57P02", "57P03", "57P05"].contains(sqlState)
  }
}
