import CLinux
import Glibc

/// A confined process could not be started. The fault is this server's, not the input's.
public struct ConfinementError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The step between clone and exec that failed: `exec` if the program is missing, `Landlock` if a path is, `seccomp`
  /// …
  public let step: String
  /// `errno`.
  public let number: Int32

  init(_ failure: fanmill_confine_failure) {
    step = String(cString: fanmill_confine_step_name(failure.step))
    number = failure.error
  }

  init(step: String, number: Int32) {
    self.step = step
    self.number = number
  }

  public var description: String {
    "a confined process cannot be started: \(step): \(String(cString: strerror(number)))"
  }
}
