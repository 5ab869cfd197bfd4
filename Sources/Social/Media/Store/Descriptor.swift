import Glibc

/// An open file or folder, closed when the value is destroyed.
struct Descriptor: ~Copyable {
  let number: Int32

  /// - Returns: nil for a failed call; `errno` gives the reason.
  init?(_ number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  deinit { close(number) }

  /// Opens the regular file at `path` for reading.
  ///
  /// - Throws: `.file`.
  static func reading(_ path: String) throws(MediaStoreError) -> Descriptor {
    // O_NONBLOCK: opening a pipe without a writer would block.
    guard let file = Descriptor(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) else { throw .file(path, errno) }
    guard file.status?.isRegular == true else { throw MediaStoreError(.file, "\(path) is not a regular file") }
    return file
  }

  /// Another descriptor of the same open file; nil if the system call fails.
  func copy() -> Descriptor? { Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 0)) }

  var status: FileStatus? {
    var status = stat()
    return fstat(number, &status) == 0 ? FileStatus(status) : nil
  }

  /// Passes all bytes to `body`, in pieces.
  ///
  /// - Throws: the errors of `body`, and the error that `failure` makes from `errno`.
  func forEachPiece(
    failure: (Int32) -> MediaStoreError, _ body: (UnsafeRawBufferPointer) throws(MediaStoreError) -> Void
  ) throws(MediaStoreError) {
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(number, $0.baseAddress, $0.count) }
      if count == 0 { return }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure(errno) }
      var thrown: MediaStoreError?
      buffer.withUnsafeBytes { bytes in
        do throws(MediaStoreError) {
          try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        } catch {
          thrown = error
        }
      }
      if let thrown { throw thrown }
    }
  }

  /// - Returns: whether all bytes were written; `errno` gives the reason if not.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(number, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      guard count >= 0 || errno == EINTR else { return false }
      rest = rest.dropFirst(max(count, 0))
    }
    return true
  }

  /// The names in a folder, without `.` and `..`, sorted; nil, with `errno`, if it cannot be read.
  func names() -> [String]? {
    // The stream closes its descriptor and moves its position, so it gets a separate one.
    let copy = openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return nil }
    guard let stream = fdopendir(copy) else {
      close(copy)
      return nil
    }
    defer { closedir(stream) }
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
      preconditionFailure("d_name is a stored property")
    }
    var names: [String] = []
    while true {
      // The only way to distinguish an error from the end.
      errno = 0
      guard let entry = readdir(stream) else { break }
      // Reads the name in place: a copy of the entry would read past its end.
      let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      names.append(String(cString: name))
    }
    return errno == 0 ? names.filter { $0 != "." && $0 != ".." }.sorted() : nil
  }
}
