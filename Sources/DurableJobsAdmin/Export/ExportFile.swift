import Dispatch
import Glibc

/// A file that is written whole or not at all: it gets its name when it is complete. It is compressed with gzip if the
/// name ends in `.gz`; `-` is standard output. Writes block, so they run on a dedicated thread.
public final class ExportFile {
  public let path: String
  /// The temporary path until the file is complete; nil for standard output.
  private let draft: String?
  private var descriptor: Int32
  private var packer: pid_t?
  private var buffer: [UInt8] = []
  private let queue = DispatchQueue(label: "fanmill.export")

  private static let block = 1 << 16

  /// - Throws: `.noOutput`.
  public init(path: String) throws(OperationError) {
    self.path = path
    buffer.reserveCapacity(Self.block + 4096)
    if path == "-" {
      draft = nil
      descriptor = STDOUT_FILENO
      return
    }
    let draft = "\(path).\(getpid()).part"
    self.draft = draft
    descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
    if path.hasSuffix(".gz") { try pack() }
  }

  deinit {
    // An unfinished file is removed.
    if let draft, descriptor >= 0 {
      close(descriptor)
      if let packer { waitpid(packer, nil, 0) }
      unlink(draft)
    }
  }

  /// - Throws: `.noOutput`.
  public func write(line: some Sequence<UInt8>) async throws(OperationError) {
    buffer.append(contentsOf: line)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= Self.block { try await flush() }
  }

  /// Completes the file and gives it its name.
  ///
  /// - Throws: `.noOutput`.
  public func finish() async throws(OperationError) {
    try await flush()
    guard let draft else { return }
    let closed = close(descriptor)
    descriptor = -1
    var status: Int32 = 0
    if let packer { waitpid(packer, &status, 0) }
    guard closed == 0, status == 0, rename(draft, path) == 0 else {
      let reason = errno
      unlink(draft)
      throw Self.failure(path, reason)
    }
  }

  private func flush() async throws(OperationError) {
    let bytes = buffer
    buffer.removeAll(keepingCapacity: true)
    let descriptor = descriptor
    let problem: Int32? = await withCheckedContinuation { continuation in
      queue.async {
        var rest = bytes[...]
        while !rest.isEmpty {
          let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
          if count < 0, errno == EINTR { continue }
          if count < 0 { return continuation.resume(returning: errno) }
          rest = rest.dropFirst(count)
        }
        continuation.resume(returning: nil)
      }
    }
    if let problem { throw Self.failure(path, problem) }
  }

  /// Pipes the output through gzip into the file.
  private func pack() throws(OperationError) {
    // If gzip dies, the write reports it; SIGPIPE must not end this process.
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Self.failure(path, errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, descriptor, STDOUT_FILENO)
    let words: [UnsafeMutablePointer<CChar>?] = [strdup("gzip"), strdup("-c"), nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let status = posix_spawnp(&process, "gzip", &actions, nil, words, environ)
    close(ends[0])
    close(descriptor)
    descriptor = ends[1]
    guard status == 0 else { throw OperationError(.noOutput, "\(path) cannot be compressed: gzip was not found") }
    packer = process
  }

  private static func failure(_ path: String, _ reason: Int32) -> OperationError {
    OperationError(.noOutput, "\(path) cannot be written: \(String(cString: strerror(reason)))")
  }
}
