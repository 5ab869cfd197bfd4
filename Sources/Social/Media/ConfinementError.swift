import CLinux
import Glibc

/// A confined process that could not be started: trouble of this server, not of what the process was to read.
public struct ConfinementError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What failed between clone and exec: `exec` where the program is missing, `Landlock` where a path is, `seccomp` …
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
