import Foundation
import Glibc

/// Local files and folders in which pictures are made.
enum MediaFiles {
  /// Creates a folder below `folder`, accessible only to its owner.
  static func makeFolder(in folder: String) throws(MediaFileError) -> String {
    var path = Array((folder + "/making-XXXXXX").utf8CString)
    guard mkdtemp(&path) != nil else { throw MediaFileError("make a folder for", errno) }
    return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  static func link(_ target: String, as path: String) throws(MediaFileError) {
    guard symlink(target, path) == 0 else { throw MediaFileError("link", errno) }
  }

  static func write(_ bytes: [UInt8], to path: String) throws(MediaFileError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw MediaFileError("write", errno) }
    defer { close(descriptor) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 { rest = rest.dropFirst(count) } else if errno != EINTR { throw MediaFileError("write", errno) }
    }
  }

  /// Removes the existing files among `paths`.
  static func remove(_ paths: [String]) {
    // Failures are ignored: nothing waits for the space, and the owner of the folder empties it later.
    for path in paths { _ = unlink(path) }
  }

  static func removeFolder(_ path: String) {
    // Failures are ignored for the same reason. FileManager removes links, not their targets.
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }
}
