import Foundation
import Glibc

/// A control group whose processes run only on otherwise idle CPUs, as docs/pictures.md describes.
struct IdleGroup {
  private let path: String

  /// nil if this user may not create one.
  init?() {
    // The kernel's first version of control groups, then its second.
    for root in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"] {
      let path = "\(root)/fanmill-bench-\(getpid())"
      guard mkdir(path, 0o755) == 0 else { continue }
      let file = open(path + "/cpu.idle", O_WRONLY)
      let count = file < 0 ? -1 : write(file, "1", 1)
      if file >= 0 { close(file) }
      if count == 1 {
        self.path = path
        return
      }
      rmdir(path)
    }
    return nil
  }

  /// Moves a process and its future children into it.
  func add(_ process: Child) throws {
    try "\(process.pid)".write(toFile: path + "/cgroup.procs", atomically: false, encoding: .utf8)
  }

  /// Removes it; its processes must have ended.
  func remove() { rmdir(path) }
}
