/// Why something that an operator asked for did not happen.
public struct OperationError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, open for more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }

    /// What was asked for means nothing: a kind that nobody knows, a queue's name that cannot be one.
    public static let usage = Code("usage")
    /// The data that were given are not what they should be: a payload that does not decode.
    public static let data = Code("data")
    /// A file that cannot be opened.
    public static let noInput = Code("no input")
    /// A file that cannot be written.
    public static let noOutput = Code("no output")
    /// There is no such job, account, dead letter.
    public static let notFound = Code("not found")
    /// It is there already, or in a state in which it cannot be done.
    public static let conflict = Code("conflict")
    /// Whoever asks may only look.
    public static let forbidden = Code("forbidden")
    /// It was tried and did not work.
    public static let failed = Code("failed")
  }

  public let code: Code
  /// What was wrong, where, and what to do.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }

  /// How long a page of a list may be.
  public static let limits = 1...100_000

  /// - Throws: `.usage` for a page that is longer than a list gives, or empty.
  public static func check(limit: Int) throws(OperationError) {
    guard limits.contains(limit) else {
      throw OperationError(.usage, "a limit of \(limit) cannot be: 1 to 100,000 belongs there, and `next` goes on")
    }
  }
}
