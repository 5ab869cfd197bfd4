import Cryptography
import Foundation
import Glibc

/// A copy of a picture from the storage's files, checked like an upload. The copy goes with the value.
///
/// A store may keep the file that it is given, and the originals belong to the operator.
final class StoredPicture: Sendable {
  static let maxBytes = 10_000_000

  let path: String
  let upload: MediaUpload

  /// - Throws: `RecordProblem` for a missing or refused picture; `FirebaseImportError` if no copy can be made.
  init(_ name: String, in folder: String) throws {
    let input = try Self.open(name, in: folder)
    defer { close(input) }
    var template = Array((NSTemporaryDirectory() + "/fanmill-import-XXXXXX").utf8CString)
    let output = mkstemp(&template)
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard output >= 0 else { throw Self.unwritable(path) }
    self.path = path
    defer { close(output) }
    do {
      let (hash, count) = try Self.copy(input, to: output, path)
      do {
        upload = MediaUpload(hash: hash, bytes: count, header: try PictureHeader(path: path))
      } catch let refusal as PictureRefusal {
        throw RecordProblem(description: refusal.message)
      }
    } catch {
      unlink(path)
      throw error
    }
  }

  deinit { unlink(path) }

  private static func open(_ name: String, in folder: String) throws -> Int32 {
    // Resolved first, so that no link in the folder leads out of it.
    guard let root = realpath(folder, nil) else {
      throw FirebaseImportError(
        .unreadable, "cannot read the storage's folder \(folder): \(String(cString: strerror(errno)))")
    }
    defer { free(root) }
    guard let resolved = realpath("\(folder)/\(name)", nil) else {
      throw RecordProblem(description: "is not in \(folder): \(String(cString: strerror(errno)))")
    }
    defer { free(resolved) }
    guard String(cString: resolved).hasPrefix(String(cString: root) + "/") else {
      throw RecordProblem(description: "is a link out of \(folder)")
    }
    let descriptor = Glibc.open(resolved, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw RecordProblem(description: "cannot be read: \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw RecordProblem(description: "is not a file")
    }
    return descriptor
  }

  private static func copy(_ input: Int32, to output: Int32, _ path: String) throws -> (hash: [UInt8], count: Int) {
    var hasher = SHA256Hasher()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    var total = 0
    while true {
      let room = buffer.count
      let count = buffer.withUnsafeMutableBytes { read(input, $0.baseAddress, room) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw RecordProblem(description: "cannot be read: \(String(cString: strerror(errno)))") }
      if count == 0 { return (hasher.digest(), total) }
      total += count
      guard total <= maxBytes else {
        throw RecordProblem(description: "has more than \(maxBytes / 1_000_000) MB")
      }
      buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      var written = 0
      while written < count {
        let more = buffer.withUnsafeBytes { bytes in
          write(output, bytes.baseAddress.map { $0 + written }, count - written)
        }
        if more < 0, errno == EINTR { continue }
        guard more > 0 else { throw unwritable(path) }
        written += more
      }
    }
  }

  private static func unwritable(_ path: String) -> FirebaseImportError {
    FirebaseImportError(.unwritable, "cannot write \(path): \(String(cString: strerror(errno)))")
  }
}
