import Foundation
import Glibc

/// Files and folders of this server's own, in which pictures are made.
enum MediaFiles {
  /// A new folder below `folder`, for its owner alone.
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

  /// Removes what is there of `paths`.
  static func remove(_ paths: [String]) {
    // Nothing waits for the space, and the folder's owner empties it: what cannot be removed stays until then.
    for path in paths { _ = unlink(path) }
  }

  static func removeFolder(_ path: String) {
    // For the same reason. FileManager removes links, not what they lead to.
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }
}
