/// Why pictures could not be made although nothing speaks against the original. Trying again may help.
public struct PictureWorkshopError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of trouble, open for more.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// vips is not installed, or lacks a library.
    public static let missingProgram = Code(rawValue: "missing_program")
    /// The disk, or the user's part of it, is full.
    public static let noSpace = Code(rawValue: "no_space")
    /// Somebody else killed vips: an operator, or a machine that is short of memory.
    public static let killed = Code(rawValue: "killed")
    /// The machine had no time for vips, which lets all others go first.
    public static let starved = Code(rawValue: "starved")
  }

  public let code: Code
  /// For logs.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(code.rawValue): \(message)" }
}
