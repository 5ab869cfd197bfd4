import Glibc
import Locking

/// A TCP port of 127.0.0.1 that nobody listens on right now.
public enum FreePort {
  /// What this process was given last: who asked for one may not listen yet, and the next one must not get the same.
  private static let given = Locked<[Int]>([])

  /// - Throws: `.failed` if the system has no port to give.
  public static func find() throws(PrivateServerError) -> Int {
    for _ in 0..<1000 {
      guard let port = bound(to: 0) else {
        throw PrivateServerError(.failed, "no free port on 127.0.0.1: \(String(cString: strerror(errno)))")
      }
      let isNew = given.withLock { given in
        if given.contains(port) { return false }
        given = given.suffix(999) + [port]
        return true
      }
      if isNew { return port }
    }
    throw PrivateServerError(.failed, "no free port on 127.0.0.1 that was not given a moment ago")
  }

  /// Whether nobody listens on `port`.
  public static func isFree(_ port: Int) -> Bool { bound(to: port) != nil }

  /// The port that a socket got that asked for `port`; nil if it got none. The socket is closed again.
  private static func bound(to port: Int) -> Int? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = UInt16(clamping: port).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Connections that have ended linger on a port for a minute; a server takes it all the same.
    var reuse: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    return isBound ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }
}
