import Glibc

/// The file that a request's body is read from.
final class UploadFile: @unchecked Sendable {
  // `@unchecked Sendable`: `offset` is touched only on the event loop's thread; the rest is constant.

  /// In bytes, when the file was opened.
  let size: Int
  private let path: String
  private let name: String
  private let descriptor: Int32
  private var offset = 0

  /// - Parameter name: the request's name in errors.
  /// - Throws: `.file` for a path that cannot be read, or is not a regular file.
  init(_ path: String, name: String) throws(HTTPClientError) {
    // Opening a pipe without a writer would block.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .file(path, name, errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw HTTPClientError(.file, "\(name): \(path) is not a regular file")
    }
    size = Int(status.st_size)
    self.path = path
    self.name = name
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Copies the next bytes into a buffer.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  /// - Throws: `.file`, also if the file has shrunk: the server already has its size.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(HTTPClientError) -> Int {
    let wanted = min(buffer.count, size - offset)
    if wanted == 0 { return 0 }
    var count = 0
    repeat { count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset)) } while count < 0 && errno == EINTR
    guard count >= 0 else { throw .file(path, name, errno) }
    guard count > 0 else { throw HTTPClientError(.file, "\(name): \(path) shrank while it was being sent") }
    offset += count
    return count
  }

  /// Goes back to the offset from which libcurl resends, as it does when a kept connection turns out to be closed.
  func rewind(to offset: Int) -> Bool {
    guard 0...size ~= offset else { return false }
    self.offset = offset
    return true
  }
}

extension HTTPClientError {
  /// The system's error for a local file.
  static func file(_ path: String, _ name: String, _ number: Int32) -> HTTPClientError {
    let isFull = number == ENOSPC || number == EDQUOT
    return HTTPClientError(isFull ? .diskFull : .file, "\(name): \(path): \(String(cString: strerror(number)))")
  }
}
