import Glibc

/// One of the kernel's control groups, which the operator makes: it decides what its processes get of processors and
/// memory. In one whose `cpu.idle` is 1 they run only while nobody else wants the processor.
public struct ControlGroup: Hashable, Sendable {
  /// Its folder, below `/sys/fs/cgroup`.
  public let path: String

  public init(path: String) { self.path = path }

  /// The file by which processes join it.
  var processes: String { path + "/cgroup.procs" }

  /// Whether this user may put processes into it.
  public var isJoinable: Bool { access(processes, W_OK) == 0 }
}
