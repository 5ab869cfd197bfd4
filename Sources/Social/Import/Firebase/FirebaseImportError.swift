/// The reason that an import from Firebase stopped. What it had taken until then stays, and the next run goes on.
public struct FirebaseImportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// A file cannot be read.
    public static let unreadable = Code(description: "unreadable")
    /// A file is not what it should be.
    public static let malformed = Code(description: "malformed")
    /// The file for rejected records cannot be written.
    public static let unwritable = Code(description: "unwritable")
    /// Another import is running.
    public static let busy = Code(description: "busy")
  }

  public let code: Code
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ failure: JSONStream.Failure) {
    self.init(failure.isUnreadable ? .unreadable : .malformed, failure.description)
  }

  public var description: String { message }
}
