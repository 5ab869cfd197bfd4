import Foundation
import Glibc
import Locking

/// A server's folder: a given one, which is kept, or a temporary one, which is removed with its server.
final class ServerFolder: Sendable {
  let path: String
  let isTemporary: Bool

  /// Uses `given`, created if missing, or creates a temporary folder: under /tmp, or in memory if requested and there
  /// is plenty.
  init(_ given: String?, isInMemory: Bool = false) throws(PrivateServerError) {
    if let given {
      path = URL(fileURLWithPath: given).standardizedFileURL.path
      isTemporary = false
      do {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      } catch {
        throw PrivateServerError(.folder, "cannot create folder \(path): \(error.localizedDescription)")
      }
      return
    }
    Leftovers.sweepOnce()
    let root = isInMemory && Self.hasMemory ? Self.memory : "/tmp"
    var template = Array("\(root)/\(Leftovers.prefix)\(getpid())-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw PrivateServerError(.folder, "cannot create a folder under \(root): \(String(cString: strerror(errno)))")
    }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    isTemporary = true
    chmod(path, 0o755)
  }

  /// Linux's in-memory file system.
  fileprivate static let memory = "/dev/shm"

  /// Whether it has 8 GB free: enough for many clusters, several times over.
  private static let hasMemory: Bool = {
    var status = statvfs()
    return statvfs(memory, &status) == 0 && UInt64(status.f_bavail) * UInt64(status.f_frsize) >= 8 << 30
  }()

  deinit { if isTemporary { Leftovers.remove(path) } }

  /// Throws if `socket` is longer than a unix socket's address may be.
  static func check(socket: String) throws(PrivateServerError) {
    guard socket.utf8.count < 104 else {
      throw PrivateServerError(.folder, "\(socket) is too long for a unix socket (103 bytes): use a shorter folder")
    }
  }

  /// The last lines of a log, for an error message.
  static func tail(of log: String, lines: Int = 6) -> String {
    guard let data = FileManager.default.contents(atPath: log) else { return "(no log)" }
    let text = String(decoding: data.suffix(8192), as: UTF8.self)
    return text.split(separator: "\n").suffix(lines).joined(separator: "\n")
  }
}

/// Servers that were not stopped: stopped when this program exits; after a `kill -9`, the next one sweeps up.
enum Leftovers {
  static let prefix = "fanmill-private-"

  private struct Live {
    var processes: [ObjectIdentifier: (process: ServerProcess, signal: Int32)] = [:]
    var folders: Set<String> = []
  }

  private static let live = Locked(Live())
  private static let atExit: Int32 = atexit { Leftovers.endAll() }

  /// Registers `process` to be stopped with `signal` when this program exits, and `folder`, if given, to be removed.
  static func add(_ process: ServerProcess, signal: Int32, removing folder: String?) {
    _ = atExit
    live.withLock { live in
      live.processes[ObjectIdentifier(process)] = (process, signal)
      if let folder { live.folders.insert(folder) }
    }
  }

  static func forget(_ process: ServerProcess) {
    live.withLock { _ = $0.processes.removeValue(forKey: ObjectIdentifier(process)) }
  }

  static func remove(_ folder: String) {
    live.withLock { _ = $0.folders.remove(folder) }
    // A server's children may still be writing, so a folder may not be empty yet.
    for _ in 0..<20 {
      do {
        try FileManager.default.removeItem(atPath: folder)
        return
      } catch {
        if !FileManager.default.fileExists(atPath: folder) { return }
        usleep(10_000)
      }
    }
  }

  private static func endAll() {
    let (processes, folders) = live.withLock { live in (Array(live.processes.values), live.folders) }
    for (process, signal) in processes { process.send(signal) }
    for _ in 0..<300 where processes.contains(where: { !$0.process.hasEnded }) { usleep(10_000) }
    for (process, _) in processes { process.send(SIGKILL) }
    for folder in folders { remove(folder) }
  }

  private static let swept: Void = {
    for root in ["/tmp", ServerFolder.memory] {
      let names: [String]
      do { names = try FileManager.default.contentsOfDirectory(atPath: root) } catch { continue }
      for name in names where name.hasPrefix(prefix) {
        guard let pid = name.dropFirst(prefix.count).split(separator: "-").first.flatMap({ pid_t($0) }) else {
          continue
        }
        if kill(pid, 0) != 0, errno == ESRCH { remove("\(root)/\(name)") }
      }
    }
  }()

  static func sweepOnce() { swept }
}
