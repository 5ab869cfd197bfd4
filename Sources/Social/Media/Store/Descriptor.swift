import Glibc

/// An open file or folder, closed when it goes.
struct Descriptor: ~Copyable {
  let number: Int32

  /// - Returns: nil where the system gave none; `errno` says why.
  init?(_ number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  deinit { close(number) }

  /// The regular file at `path`, for reading.
  ///
  /// - Throws: `.file`.
  static func reading(_ path: String) throws(MediaStoreError) -> Descriptor {
    // A pipe without a writer would hold the call up.
    guard let file = Descriptor(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) else { throw .file(path, errno) }
    guard file.status?.isRegular == true else { throw MediaStoreError(.file, "\(path) is no regular file") }
    return file
  }

  /// Another descriptor of the same open file; nil where the system gives none.
  func copy() -> Descriptor? { Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 0)) }

  var status: FileStatus? {
    var status = stat()
    return fstat(number, &status) == 0 ? FileStatus(status) : nil
  }

  /// Hands over all bytes, in pieces.
  ///
  /// - Throws: whatever `body` throws, and what `failure` makes of `errno`.
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

  /// - Returns: whether all of the bytes were written; `errno` says why not.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(number, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      guard count >= 0 || errno == EINTR else { return false }
      rest = rest.dropFirst(max(count, 0))
    }
    return true
  }

  /// What is in a folder, without `.` and `..`, in order; nil, with `errno`, where it cannot be read.
  func names() -> [String]? {
    // The stream closes the number that it is given, and moves its place.
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
      // The one way to tell an error from the end.
      errno = 0
      guard let entry = readdir(stream) else { break }
      // Where the entry stands: a copy would take more bytes than it has.
      let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      names.append(String(cString: name))
    }
    return errno == 0 ? names.filter { $0 != "." && $0 != ".." }.sorted() : nil
  }
}
