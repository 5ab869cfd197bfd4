import Foundation
import Glibc

/// The folder of a server's unix socket: beside its data or, if that path is too long or not accessible, under /tmp.
enum SocketFolder {
  /// The longest folder that leaves room for a socket's name (`.s.PGSQL.65535.lock`) within 100 bytes.
  static let longest = 78

  /// The socket folder of the server with its data in `folder`; always the same for the same folder.
  static func path(for folder: String, usable: Bool = true) throws(PrivateServerError) -> String {
    if usable, folder.utf8.count <= longest { return folder }
    return try short(for: folder, under: "/tmp")
  }

  /// A subfolder of `parent` named after `folder`, created if missing.
  static func short(for folder: String, under parent: String) throws(PrivateServerError) -> String {
    // FNV-1a, because its result is the same in every process.
    let hash = folder.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let path = "\(parent)/fanmill-\(getuid())-\(String(hash, radix: 36))"
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
      throw PrivateServerError(.folder, "cannot create folder \(path): \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard stat(path, &status) == 0, status.st_uid == getuid() else {
      throw PrivateServerError(.folder, "folder \(path) belongs to another user: remove it")
    }
    return path
  }
}
