import Dispatch
import Foundation
import Glibc
import Locking

/// A connection that requests an event stream, and optionally reads it.
final class OpenStream: Sendable {
  private let connection = Connection()
  private let bytes = Locked<[UInt8]>([])
  private let ends: AsyncStream<Void>

  /// The bytes received so far.
  var received: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }
  var receivedBytes: Int { bytes.withLock { $0.count } }

  /// - Parameter reads: whether to read until the connection ends.
  init(port: Int, method: String = "GET", _ path: String, _ field: String, reads: Bool) throws {
    let descriptor = connection.descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(clamping: port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    if !reads {
      var room: Int32 = 1024
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
    let head = Array("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(field)\r\n\r\n".utf8)
    guard send(descriptor, head, head.count, Int32(MSG_NOSIGNAL)) == head.count else { throw POSIXError(.EPIPE) }
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    self.ends = ends
    guard reads else {
      end.finish()
      return
    }
    Thread { [bytes, connection] in
      var chunk = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = recv(connection.descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        bytes.withLock { $0 += chunk.prefix(count) }
      }
      end.finish()
    }.start()
  }

  deinit { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }

  /// Waits until the connection ends.
  func end() async { for await _ in ends {} }
}

/// Closed when it is no longer referenced: not while a thread still reads.
private final class Connection: Sendable {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)

  deinit { close(descriptor) }
}
