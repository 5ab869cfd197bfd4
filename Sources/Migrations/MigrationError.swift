/// The reason why migrations cannot be read or run.
public struct MigrationError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The folder or a file in it cannot be read, or a file is not a migration.
    public static let unreadable = Code(description: "unreadable")
    /// A file differs from the one that was applied.
    public static let changed = Code(description: "changed")
    /// An applied migration has no file.
    public static let missing = Code(description: "missing")
    /// A migration would be applied after a later one.
    public static let outOfOrder = Code(description: "out of order")
    /// The database's schema is older than the program.
    public static let behind = Code(description: "behind")
    /// A migration to revert has no down part.
    public static let irreversible = Code(description: "irreversible")
    /// The server refused a statement; nothing of that migration took effect.
    public static let refused = Code(description: "refused")
  }

  public let code: Code
  /// The error, its file, and the remedy.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
