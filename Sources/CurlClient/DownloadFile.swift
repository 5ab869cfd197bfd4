import Glibc

/// The file that receives a response's body, under a temporary name beside the final one until it is complete.
final class DownloadFile: @unchecked Sendable {
  // `@unchecked Sendable`: the waiting task creates it and finishes it; the event loop's thread writes in between,
  // while that task is suspended.

  /// In bytes.
  let limit: Int
  private let path: String
  private let part: String
  private let name: String
  private let descriptor: Int32
  private var size = 0
  private var hasPart = true

  /// - Parameter name: the request's name in errors.
  /// - Throws: `.file`, `.diskFull`.
  init(_ path: String, limit: Int, name: String) throws(HTTPClientError) {
    let part = "\(path).part-\(String(UInt64.random(in: 0...(.max)), radix: 16))"
    let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .file(path, name, errno) }
    self.descriptor = descriptor
    self.path = path
    self.part = part
    self.limit = limit
    self.name = name
  }

  deinit {
    close(descriptor)
    discard()
  }

  /// Removes the file, unless it has its final name.
  func discard() {
    if hasPart { unlink(part) }
    hasPart = false
  }

  /// - Throws: `.bodyTooLarge`, `.file`, `.diskFull`.
  func write(_ piece: UnsafeRawBufferPointer) throws(HTTPClientError) {
    guard size + piece.count <= limit else { throw .bodyTooLarge(name, limit) }
    size += piece.count
    var rest = piece[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      guard count >= 0 || errno == EINTR else { throw .file(path, name, errno) }
      rest = rest.dropFirst(max(count, 0))
    }
  }

  /// Gives the file its final name, replacing an existing file.
  ///
  /// - Throws: `.file`.
  func keep() throws(HTTPClientError) {
    guard rename(part, path) == 0 else { throw .file(path, name, errno) }
    hasPart = false
  }
}
