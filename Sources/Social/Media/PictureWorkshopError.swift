/// The reason that pictures could not be made, through no fault of the original. A retry may succeed.
public struct PictureWorkshopError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure; more may be added.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// vips is not installed, or lacks a library.
    public static let missingProgram = Code(rawValue: "missing_program")
    /// The disk, or the user's quota, is full.
    public static let noSpace = Code(rawValue: "no_space")
    /// Vips was killed from outside: by an operator, or by a machine that is short of memory.
    public static let killed = Code(rawValue: "killed")
    /// The machine had no CPU time for vips, which runs at the lowest priority.
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
