import Foundation
import Glibc

/// A folder for the temporary files of an export, accessible only to its owner.
///
/// Its lock ends with the process, so that a folder in use is told from one that a killed process left.
struct ArchiveFolder: Sendable {
  private static let prefix = "fanmill-export-"
  /// A younger folder may not be locked yet, in seconds.
  private static let age = 60

  let path: String
  private let descriptor: Int32

  /// - Throws: `.unwritable`.
  init(in parent: String = NSTemporaryDirectory()) throws(ArchiveError) {
    var template = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Self.unwritable(parent) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let error = Self.unwritable(parent)
      remove()
      throw error
    }
  }

  /// Removes the folder with its files. Call it once.
  func remove() {
    Self.remove(path)
    if descriptor >= 0 { close(descriptor) }
  }

  /// Removes what killed processes left: they hold all that an account has.
  static func removeLeftovers(in parent: String = NSTemporaryDirectory()) {
    // Without a list there is nothing to remove; the export that follows says what is wrong with the folder.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
      let path = "\(parent)/\(name)"
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      // Another user's.
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      var status = stat()
      guard fstat(descriptor, &status) == 0, time(nil) - status.st_mtim.tv_sec > age,
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
      else { continue }
      remove(path)
    }
  }

  private static func remove(_ path: String) {
    // A failure is not worth the export; the next one tries again.
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }

  private static func unwritable(_ parent: String) -> ArchiveError {
    ArchiveError(.unwritable, "cannot make a folder in \(parent): \(String(cString: strerror(errno)))")
  }
}
