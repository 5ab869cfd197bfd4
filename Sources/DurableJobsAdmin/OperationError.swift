/// Why an operator's request failed.
public struct OperationError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, an open set.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }

    /// The request makes no sense: an unknown kind, or an invalid queue name.
    public static let usage = Code("usage")
    /// The data are invalid: a payload that does not decode.
    public static let data = Code("data")
    /// A file that cannot be opened.
    public static let noInput = Code("no input")
    /// A file that cannot be written.
    public static let noOutput = Code("no output")
    /// The job, account or dead letter does not exist.
    public static let notFound = Code("not found")
    /// It exists already, or is in a state that does not allow the operation.
    public static let conflict = Code("conflict")
    /// The caller is read-only.
    public static let forbidden = Code("forbidden")
    /// The operation was tried and failed.
    public static let failed = Code("failed")
  }

  public let code: Code
  /// The problem, its place and the remedy.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }

  /// The allowed lengths of a list's page.
  public static let limits = 1...100_000

  /// - Throws: `.usage` for a page length outside `limits`.
  public static func check(limit: Int) throws(OperationError) {
    guard limits.contains(limit) else {
      throw OperationError(.usage, "the limit \(limit) is out of range: use 1 to 100,000, and `next` for further pages")
    }
  }
}
