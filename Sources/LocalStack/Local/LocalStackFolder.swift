import DurableJobsAdmin
import Foundation
import Glibc

/// The folder of a local stack, `.fanmill`: data, logs, addresses, and the process that runs it.
public struct LocalStackFolder: Sendable {
  public let path: String

  /// - Parameter parent: the parent folder; nil is the current one.
  public init(in parent: String? = nil) {
    let parent = parent ?? FileManager.default.currentDirectoryPath
    path = URL(fileURLWithPath: parent).standardizedFileURL.path + "/.fanmill"
  }

  /// The running stack's settings, for a shell and for `settings()`.
  public var environmentFile: String { path + "/env" }
  public var log: String { path + "/up.log" }
  private var lockFile: String { path + "/lock" }
  private var workersFile: String { path + "/workers" }
  private var wantedFile: String { path + "/workers.wanted" }

  /// Creates the folder if it is missing.
  func make() throws(OperationError) {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw OperationError(.failed, "cannot create the folder \(path): \(error.fileReason)")
    }
  }

  // MARK: Lock

  /// Locks the stack of this folder until `LocalStackLock` is released or the process ends in any way.
  ///
  /// - Throws: `.conflict` if another process holds the lock.
  func lock() throws(OperationError) -> LocalStackLock {
    try make()
    let descriptor = open(lockFile, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw OperationError(.failed, "\(lockFile) cannot be written: \(String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      let owner = runner.map { " (process \($0))" } ?? ""
      throw OperationError(.conflict, "a stack is already running in \(path)\(owner): stop it with `fanmill down`")
    }
    ftruncate(descriptor, 0)
    let pid = Array("\(getpid())\n".utf8)
    _ = Glibc.write(descriptor, pid, pid.count)
    return LocalStackLock(descriptor: descriptor)
  }

  /// The process that runs this folder's stack; nil if none does.
  public var runner: pid_t? {
    let descriptor = open(lockFile, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    // Getting the lock, even briefly, proves that no stack is running. A pid in a file alone could since belong to
    // another process.
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return nil }
    var text = [UInt8](repeating: 0, count: 32)
    let count = read(descriptor, &text, text.count)
    return pid_t(
      String(decoding: text.prefix(max(0, count)), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
  }

  // MARK: Settings

  /// Writes the settings, readable only by their owner because they include the admin token.
  func write(_ settings: [String: String]) throws(OperationError) {
    var text = "# The stack that `fanmill up` runs here. For a shell: set -a; . .fanmill/env; set +a\n"
    for (name, value) in settings.sorted(by: { $0.key < $1.key }) {
      text += "\(name)='\(value.replacing("'", with: "'\\''"))'\n"
    }
    try replace(environmentFile, with: text, mode: 0o600)
  }

  /// Replaces a file atomically, so that readers never see half of it. The mode is set before the text is written.
  private func replace(_ file: String, with text: String, mode: mode_t) throws(OperationError) {
    let draft = file + ".new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw unwritten(file) }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let error = unwritten(file)
        close(descriptor)
        throw error
      }
      rest = rest.dropFirst(count)
    }
    guard close(descriptor) == 0, rename(draft, file) == 0 else { throw unwritten(file) }
  }

  private func unwritten(_ file: String) -> OperationError {
    OperationError(.failed, "\(file) cannot be written: \(String(cString: strerror(errno)))")
  }

  func removeSettings() { unlink(environmentFile) }

  /// The settings of the last start; empty if there are none.
  public func settings() -> [String: String] {
    guard let bytes = FileManager.default.contents(atPath: environmentFile) else { return [:] }
    var settings: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[1].count >= 2, parts[1].hasPrefix("'"), parts[1].hasSuffix("'") else { continue }
      settings[String(parts[0])] = String(parts[1].dropFirst().dropLast()).replacing("'\\''", with: "'")
    }
    return settings
  }
}

// MARK: Workers

extension LocalStackFolder {
  /// The workers that are ready. `.fanmill/workers` has one line each: name, process, port, separated by blanks.
  public func workers() -> [LocalWorker] {
    guard let bytes = FileManager.default.contents(atPath: workersFile) else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, let pid = Int32(words[1]), let port = Int(words[2]) else { return nil }
      return LocalWorker(name: String(words[0]), pid: pid, port: port)
    }
  }

  func write(_ workers: [LocalWorker]) throws(OperationError) {
    try replace(workersFile, with: workers.map { "\($0.name) \($0.pid) \($0.port)\n" }.joined(), mode: 0o644)
  }

  /// The most recently requested number of workers; nil if there was no request.
  var wantedWorkers: Int? {
    guard let bytes = FileManager.default.contents(atPath: wantedFile) else { return nil }
    return Int(String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
  }

  func want(workers: Int) throws(OperationError) {
    try replace(wantedFile, with: "\(workers)\n", mode: 0o644)
  }
}

/// Held while a stack is running.
final class LocalStackLock: Sendable {
  private let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }
}
