import Dispatch
import Glibc

/// Reads the lines of a file without holding it in memory. The file is plain or gzipped, as detected by its first
/// bytes, not by its name. Reads block, so they run on a dedicated thread.
final class LineReader {
  let path: String
  /// The number of the line that `next` last returned.
  private(set) var number = 0
  /// How many bytes of the unpacked file have been read.
  private(set) var bytes = 0

  private let descriptor: Int32
  private var unpacker: pid_t?
  private let queue = DispatchQueue(label: "fanmill.import")
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false

  /// - Throws: `.unreadable`.
  init(path: String) throws(GraphImportError) {
    self.path = path
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Self.unreadable(path) }
    var magic: [UInt8] = [0, 0]
    let count = pread(file, &magic, 2, 0)
    guard count >= 0 else {
      close(file)
      throw Self.unreadable(path)
    }
    guard count == 2, magic == [0x1F, 0x8B] else {
      descriptor = file
      return
    }
    defer { close(file) }
    (descriptor, unpacker) = try Self.unpack(file, path)
  }

  deinit {
    close(descriptor)
    if let unpacker { waitpid(unpacker, nil, 0) }
  }

  /// The next line without its line ending; nil after the last one.
  ///
  /// - Throws: `.unreadable`.
  func next() async throws(GraphImportError) -> ArraySlice<UInt8>? {
    while true {
      if let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { position = end + 1 }
        number += 1
        return buffer[position..<(end > position && buffer[end - 1] == UInt8(ascii: "\r") ? end - 1 : end)]
      }
      if isAtEnd {
        guard position < buffer.count else { return nil }
        defer { position = buffer.count }
        number += 1
        return buffer[position...]
      }
      try await fill()
    }
  }

  private func fill() async throws(GraphImportError) {
    buffer.removeFirst(position)
    position = 0
    let descriptor = self.descriptor
    let piece: [UInt8]? = await withCheckedContinuation { continuation in
      queue.async {
        var count = 0
        let piece = [UInt8](unsafeUninitializedCapacity: 1 << 18) { space, filled in
          repeat { count = read(descriptor, space.baseAddress, space.count) } while count < 0 && errno == EINTR
          filled = max(count, 0)
        }
        continuation.resume(returning: count < 0 ? nil : piece)
      }
    }
    guard let piece else { throw Self.unreadable(path) }
    bytes += piece.count
    buffer += piece
    if piece.isEmpty {
      isAtEnd = true
      try finish()
    }
  }

  /// Checks that gzip unpacked the whole file.
  private func finish() throws(GraphImportError) {
    guard let unpacker else { return }
    self.unpacker = nil
    var status: Int32 = 0
    waitpid(unpacker, &status, 0)
    guard status == 0 else {
      throw GraphImportError(.unreadable, "\(path) is damaged: gzip could not decompress all of it")
    }
  }

  /// Starts gzip with the file as its input.
  private static func unpack(_ file: Int32, _ path: String) throws(GraphImportError) -> (Int32, pid_t) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw unreadable(path) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[1]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, file, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    var child: pid_t = 0
    let arguments: [UnsafeMutablePointer<CChar>?] = ["gzip", "-dcq"].map { (text: String) in strdup(text) }
    defer { for argument in arguments { free(argument) } }
    let status = posix_spawnp(&child, "gzip", &actions, nil, arguments + [nil], environ)
    guard status == 0 else {
      close(ends[0])
      throw GraphImportError(
        .unreadable,
        "\(path) is compressed, and the program gzip cannot be started (\(String(cString: strerror(status))))")
    }
    return (ends[0], child)
  }

  private static func unreadable(_ path: String) -> GraphImportError {
    GraphImportError(.unreadable, "\(path) cannot be read: \(String(cString: strerror(errno)))")
  }
}
