/// A private server that cannot be started or does not answer.
public struct PrivateServerError: Error, CustomStringConvertible {
  /// What went wrong, open for more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// A program that the machine lacks.
    public static let missingProgram = Code(description: "missing program")
    /// The program ran and ended, or could not be run at all.
    public static let failed = Code(description: "failed")
    /// The server runs and did not become ready in time.
    public static let notReady = Code(description: "not ready")
    /// A folder or a path that cannot be used.
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
