import LibPQClient

/// Why a queue's schema cannot be brought up to date, or used.
public struct JobsSchemaError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, open for more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The database's schema is older than the program, or there is none.
    public static let behind = Code(description: "behind")
    /// The database's schema is newer than the program.
    public static let newer = Code(description: "newer")
    /// A version is not the one that was applied.
    public static let changed = Code(description: "changed")
    /// The tables of before the queue had a schema are not those of the last version without one.
    public static let outdated = Code(description: "outdated")
    /// Other sessions held the tables for too long; nothing has changed.
    public static let held = Code(description: "held")
    /// The server refused a statement; nothing of that version took effect.
    public static let refused = Code(description: "refused")
  }

  public let code: Code
  /// What is wrong, in which schema, and what to do.
  public let message: String
  /// What the server said, where it refused a statement.
  public let cause: PostgresError?

  init(_ code: Code, _ message: String, cause: PostgresError? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  public var description: String { message }
}
