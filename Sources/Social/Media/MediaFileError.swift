import Glibc

/// A file of this server's own that cannot be used. Trying again may help.
public struct MediaFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was done with the file.
  public let action: String
  /// `errno`.
  public let number: Int32

  init(_ action: String, _ number: Int32) {
    self.action = action
    self.number = number
  }

  public var description: String { "cannot \(action) a picture's file: \(String(cString: strerror(number)))" }
}
