import Foundation
import Glibc

/// The file system's information about a file.
struct FileStatus {
  let isRegular: Bool
  let bytes: Int
  let modified: Date

  init(_ status: stat) {
    isRegular = status.st_mode & S_IFMT == S_IFREG
    bytes = Int(status.st_size)
    modified = Date(
      timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec) + TimeInterval(status.st_mtim.tv_nsec) / 1e9)
  }

  /// - Returns: nil if the name does not exist; links are not followed.
  init?(_ name: String, in folder: borrowing Descriptor) {
    var status = stat()
    guard fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    self.init(status)
  }
}
