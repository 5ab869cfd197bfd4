import Foundation
import Glibc

/// The file of records that were not imported, one JSON document on a line, for another try.
///
/// A line has `kind`, `file`, `line`, `path`, `reason` and the `record`. Lines with `"imported": true` are of records
/// that were imported with a change, such as another username. The file gets its name once it is complete, and is
/// readable by its owner alone: it may hold addresses and hashes.
final class RejectedRecords {
  struct Line: Codable, Sendable {
    var kind: FirebaseKind
    var file: String
    var line: Int
    var path: [String]
    var reason: String
    var imported: Bool?
  }

  let path: String
  private let part: String
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private(set) var count = 0
  private let encoder: JSONEncoder

  /// - Throws: `.unwritable`; `.busy` if another run, such as a dry one, is writing the file.
  init(path: String) throws(FirebaseImportError) {
    self.path = path
    part = "\(path).part"
    encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // The lock of a run goes with its process.
    let former = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    let isFree = former < 0 || flock(former, LOCK_EX | LOCK_NB) == 0
    if isFree { unlink(part) }
    descriptor = isFree ? open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600) : -1
    let isLocked = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0
    let reason = Self.unwritable(path)
    if former >= 0 { close(former) }
    guard isFree else {
      throw FirebaseImportError(.busy, "another run is writing \(path): name another file with --rejects FILE")
    }
    guard isLocked else { throw reason }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// - Parameter record: nil for a record that is too large to keep, or no JSON.
  func add(_ line: Line, record: [UInt8]?) throws {
    var bytes = Array(try encoder.encode(line))
    bytes.removeLast()
    bytes += Array(",\"record\":".utf8) + (record ?? Array("null".utf8)) + Array("}\n".utf8)
    buffer += bytes
    count += 1
    if buffer.count >= 1 << 16 { try flush() }
  }

  /// Gives the file its name, or removes it if nothing was rejected. That of an earlier run gets the ending `.old`.
  func finish() throws(FirebaseImportError) {
    try flush()
    guard rename(path, "\(path).old") == 0 || errno == ENOENT else { throw Self.unwritable(path) }
    if count == 0 {
      unlink(part)
      return
    }
    guard fsync(descriptor) == 0, rename(part, path) == 0 else { throw Self.unwritable(path) }
  }

  private func flush() throws(FirebaseImportError) {
    var rest = buffer[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.unwritable(path) }
      rest = rest.dropFirst(count)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  private static func unwritable(_ path: String) -> FirebaseImportError {
    FirebaseImportError(
      .unwritable, "cannot write \(path): \(String(cString: strerror(errno))); name another file with --rejects FILE")
  }
}
