/// Why migrations cannot be read or run.
public struct MigrationError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, open for more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The folder or a file in it cannot be read, or is not what a migration looks like.
    public static let unreadable = Code(description: "unreadable")
    /// A file is not the one that was applied.
    public static let changed = Code(description: "changed")
    /// A migration that was applied has no file.
    public static let missing = Code(description: "missing")
    /// A number would be applied after a later one.
    public static let outOfOrder = Code(description: "out of order")
    /// The database's schema is older than the program.
    public static let behind = Code(description: "behind")
    /// A migration that is to be undone says nothing of how.
    public static let irreversible = Code(description: "irreversible")
    /// The server refused a statement; nothing of that migration took effect.
    public static let refused = Code(description: "refused")
  }

  public let code: Code
  /// What is wrong, in which file, and what to do.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
