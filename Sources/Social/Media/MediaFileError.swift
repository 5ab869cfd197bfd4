import Glibc

/// One of this server's own files cannot be used. A retry may succeed.
public struct MediaFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The action that failed.
  public let action: String
  /// `errno`.
  public let number: Int32

  init(_ action: String, _ number: Int32) {
    self.action = action
    self.number = number
  }

  public var description: String { "cannot \(action) a picture's file: \(String(cString: strerror(number)))" }
}
