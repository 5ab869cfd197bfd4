/// The reason that an archive was not written.
public struct ArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// The file cannot be written.
    public static let unwritable = Code(description: "unwritable")
    /// The contents exceed what a zip file without extensions can hold: 4 GB or 65,534 files.
    public static let tooLarge = Code(description: "too large")
  }

  public let code: Code
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
