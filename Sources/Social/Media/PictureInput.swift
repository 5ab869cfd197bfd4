import Glibc

/// An open file, read in small pieces at given offsets.
struct PictureInput: ~Copyable {
  private let descriptor: Int32
  /// In bytes, when it was opened.
  let size: Int

  /// - Throws: `MediaFileError` if the file cannot be opened, or is not a regular file.
  init(path: String) throws(MediaFileError) {
    // O_NOFOLLOW and O_NONBLOCK: a child that parsed hostile bytes may have left a link, or a FIFO without a writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    try self.init(opened: descriptor)
  }

  /// - Parameter descriptor: of a file that is open for reading; it stays open.
  init(descriptor: Int32) throws(MediaFileError) { try self.init(opened: fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) }

  private init(opened descriptor: Int32) throws(MediaFileError) {
    guard descriptor >= 0 else { throw MediaFileError("open", errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw MediaFileError("open", EINVAL)
    }
    self.descriptor = descriptor
    size = Int(status.st_size)
  }

  deinit { close(descriptor) }

  /// Up to `count` bytes from `offset`; fewer at the end of the file.
  func bytes(at offset: Int, count: Int) throws(MediaFileError) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let wanted = count - filled
      let got = buffer.withUnsafeMutableBytes { bytes in
        pread(descriptor, bytes.baseAddress.map { $0 + filled }, wanted, off_t(offset + filled))
      }
      if got == 0 { break }
      if got > 0 { filled += got } else if errno != EINTR { throw MediaFileError("read", errno) }
    }
    buffer.removeLast(count - filled)
    return buffer
  }
}
