/// A private server that cannot be started or does not respond.
public struct PrivateServerError: Error, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// A program that is not installed.
    public static let missingProgram = Code(description: "missing program")
    /// The program exited, or could not be run.
    public static let failed = Code(description: "failed")
    /// The server is running but was not ready in time.
    public static let notReady = Code(description: "not ready")
    /// An unusable folder or path.
    public static let folder = Code(description: "folder")
  }

  public let code: Code
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
