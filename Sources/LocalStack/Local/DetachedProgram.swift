import CLinux
import DurableJobsAdmin
import Foundation
import Glibc

/// Runs this program again in a separate session, so that it outlives the terminal and the caller.
enum DetachedProgram {
  /// - Parameter log: the file to which its output is appended.
  /// - Returns: the process id.
  static func start(_ arguments: [String], log: String) throws(OperationError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // POSIX_SPAWN_SETSID of glibc's <spawn.h>, a macro that Swift does not see.
    posix_spawnattr_setflags(&attributes, 0x80)
    let words: [UnsafeMutablePointer<CChar>?] = (["fanmill"] + arguments).map { (word: String) in strdup(word) }
    defer { for word in words { free(word) } }
    var pid: pid_t = 0
    let status = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, words + [nil], environ)
    guard status == 0 else {
      throw OperationError(.failed, "fanmill cannot be started in the background: \(String(cString: strerror(status)))")
    }
    return pid
  }
}
