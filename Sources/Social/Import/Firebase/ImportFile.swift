import Glibc

/// Small files that an import reads whole.
enum ImportFile {
  /// - Throws: `.unreadable`; `.malformed` for a larger file.
  static func bytes(of path: String, atMost limit: Int) throws(FirebaseImportError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(path) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let room = piece.count
      let count = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, room) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(path) }
      if count == 0 { return bytes }
      bytes += piece[..<count]
      guard bytes.count <= limit else {
        throw FirebaseImportError(.malformed, "\(path) has more than \(limit) bytes: is it the right file?")
      }
    }
  }

  static func size(of path: String) throws(FirebaseImportError) -> Int {
    var status = stat()
    guard stat(path, &status) == 0 else { throw unreadable(path) }
    return Int(status.st_size)
  }

  private static func unreadable(_ path: String) -> FirebaseImportError {
    FirebaseImportError(.unreadable, "cannot read \(path): \(String(cString: strerror(errno)))")
  }
}
