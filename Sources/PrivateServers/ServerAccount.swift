import Foundation
import Glibc

/// The user that runs Postgres: this program's user or, for root, `postgres`.
struct ServerAccount: Sendable {
  /// nil is the current user.
  let name: String?
  private let user: uid_t
  private let group: gid_t

  static var current: ServerAccount {
    guard getuid() == 0 else { return ServerAccount(name: nil, user: getuid(), group: getgid()) }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 4096)
    getpwnam_r("postgres", &entry, &buffer, buffer.count, &found)
    return ServerAccount(
      name: "postgres", user: found == nil ? 0 : entry.pw_uid, group: found == nil ? 0 : entry.pw_gid)
  }

  /// Whether this user may enter `folder`; only root runs Postgres as another user.
  func canEnter(_ folder: String) -> Bool {
    guard name != nil else { return true }
    var path = ""
    for part in folder.split(separator: "/") {
      path += "/" + part
      var status = stat()
      guard stat(path, &status) == 0 else { return false }
      let bit: mode_t = status.st_uid == user ? S_IXUSR : status.st_gid == group ? S_IXGRP : S_IXOTH
      if status.st_mode & bit == 0 { return false }
    }
    return true
  }

  /// Creates `folder` if it is missing, and makes this user its owner.
  func makeOwnFolder(_ folder: String, mode: mode_t) throws(PrivateServerError) {
    if name != nil, user == 0 {
      throw PrivateServerError(
        .missingProgram,
        "Postgres does not run as root, and there is no user postgres: `make setup` installs postgresql")
    }
    guard mkdir(folder, mode) == 0 || errno == EEXIST, chmod(folder, mode) == 0,
      name == nil || chown(folder, user, group) == 0
    else { throw PrivateServerError(.folder, "cannot create folder \(folder): \(String(cString: strerror(errno)))") }
  }
}
