import Glibc
import Locking

/// A TCP port of 127.0.0.1 without a listener.
public enum FreePort {
  /// The most recently returned ports: a caller may not listen yet, and the next one must not get the same port.
  private static let given = Locked<[Int]>([])

  /// - Throws: `.failed` if the system has no free port.
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
    throw PrivateServerError(.failed, "no free port on 127.0.0.1 that was not handed out a moment ago")
  }

  /// Whether `port` has no listener.
  public static func isFree(_ port: Int) -> Bool { bound(to: port) != nil }

  /// Binds a socket to `port` and closes it; returns the port it got, or nil.
  private static func bound(to port: Int) -> Int? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = UInt16(clamping: port).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // Closed connections linger on a port for a minute; a server can bind to it nevertheless.
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
