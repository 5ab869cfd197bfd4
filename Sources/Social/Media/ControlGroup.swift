import Glibc

/// A kernel control group, created by the operator. It decides how much CPU and memory its processes get. With
/// `cpu.idle` set to 1 they run only while nothing else wants the CPU.
public struct ControlGroup: Hashable, Sendable {
  /// Its folder, below `/sys/fs/cgroup`.
  public let path: String

  public init(path: String) { self.path = path }

  /// Processes join the group by writing to this file.
  var processes: String { path + "/cgroup.procs" }

  /// Whether this user may put processes into it.
  public var isJoinable: Bool { access(processes, W_OK) == 0 }
}
