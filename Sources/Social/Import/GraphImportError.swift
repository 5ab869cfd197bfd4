/// The reason that a graph was not imported. Nothing of it was.
public struct GraphImportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// A file cannot be read or unpacked.
    public static let unreadable = Code(description: "unreadable")
    /// Lines of a file are wrong.
    public static let badLines = Code(description: "bad lines")
  }

  /// A wrong line.
  public struct Line: Hashable, Sendable, CustomStringConvertible {
    public let file: String
    /// 1 for the first.
    public let number: Int
    public let problem: String

    public var description: String { "\(file):\(number): \(problem)" }
  }

  public let code: Code
  public let message: String
  /// The first of the wrong lines.
  public let lines: [Line]

  init(_ code: Code, _ message: String, lines: [Line] = []) {
    self.code = code
    self.message = message
    self.lines = lines
  }

  /// The most wrong lines reported at once.
  static let maxCount = 10

  init(_ lines: [Line]) {
    self.init(
      .badLines, (["nothing was imported; these lines are wrong:"] + lines.map { "  \($0)" }).joined(separator: "\n"),
      lines: lines)
  }

  public var description: String { message }
}
