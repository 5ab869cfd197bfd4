/// What a statement, a connection or a pool can fail with.
///
/// It never holds a parameter's value: what the server says in DETAIL and CONTEXT, where values stand, is left out, and
/// so is quoted text in messages about data.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, open for more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// No connection, or it was lost. Whether a statement under way took effect is not known.
    public static let connection = Code(description: "connection")
    /// No answer in time. The connection was closed.
    public static let timeout = Code(description: "timeout")
    /// The task was cancelled; the statement was ended or not begun.
    public static let cancelled = Code(description: "cancelled")
    /// The server refused the statement: `sqlState` says why.
    public static let server = Code(description: "server")
    /// A value does not have the shape that the caller asked for.
    public static let decoding = Code(description: "decoding")
    /// No connection of the pool came free within the wait limit.
    public static let poolExhausted = Code(description: "pool exhausted")
    /// The transaction was used after its end.
    public static let transactionEnded = Code(description: "transaction ended")
    /// The connection was lost during COMMIT: the transaction took effect or it did not; look before doing it again.
    public static let outcomeUnknown = Code(description: "outcome unknown")
    /// A URL or an argument that cannot work.
    public static let configuration = Code(description: "configuration")
  }

  public let code: Code
  public let message: String
  /// The five characters of the server's error, such as `23505` for a unique violation.
  public let sqlState: String?
  /// The constraint that was violated, if one was.
  public let constraint: String?
  /// The table that the error is about, if it is about one.
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

  /// Whether the server lets this user not in, or has no such database: asking again changes nothing.
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

  /// States with which the server ends a connection rather than a statement.
  static func endsConnection(_ sqlState: String?) -> Bool {
    guard let sqlState else { return false }
    // 08P01 is also what a value of the wrong width gets, and then the session goes on.
    return (sqlState.hasPrefix("08") && sqlState != "08P01") || ["57P01", "57P02", "57P03", "57P05"].contains(sqlState)
  }
}
