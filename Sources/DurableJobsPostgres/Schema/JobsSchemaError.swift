import LibPQClient

/// Why a queue's schema cannot be brought up to date, or used.
public struct JobsSchemaError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, an open set.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The database's schema is older than the program, or there is none.
    public static let behind = Code(description: "behind")
    /// The database's schema is newer than the program.
    public static let newer = Code(description: "newer")
    /// An applied version differs from the program's.
    public static let changed = Code(description: "changed")
    /// The tables from before the queue had a schema are not those of the last version without one.
    public static let outdated = Code(description: "outdated")
    /// Other sessions held the tables for too long; nothing changed.
    public static let held = Code(description: "held")
    /// The server refused a statement; nothing of that version took effect.
    public static let refused = Code(description: "refused")
  }

  public let code: Code
  /// The problem, its schema and the remedy.
  public let message: String
  /// The server's error, if it refused a statement.
  public let cause: PostgresError?

  init(_ code: Code, _ message: String, cause: PostgresError? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  public var description: String { message }
}
