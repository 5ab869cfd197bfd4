import Dispatch
import Foundation
import Glibc

/// A connection to a server on 127.0.0.1, for tests that send what no HTTP client would.
public final class RawConnection: Sendable {
  private let descriptor: Int32

  /// - Parameter source: the local address to connect from.
  public init(port: Int, from source: String? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if let source {
      try Self.use(source, port: 0) { bind(descriptor, $0, $1) }
    }
    try Self.use("127.0.0.1", port: port) { connect(descriptor, $0, $1) }
  }

  private static func use(
    _ host: String, port: Int, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(clamping: port).bigEndian
    address.sin_addr.s_addr = inet_addr(host)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ECONNREFUSED) }
  }

  deinit { close(descriptor) }

  public func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPIPE)
    }
  }

  /// Makes `close` reset the connection, as for a client whose process was killed with unread data.
  public func resetOnClose() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
  }

  /// Sends the end of the stream, and keeps reading.
  public func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The bytes up to `end`, or until the server ends the connection.
  public func answer(endingWith end: String) async -> String { await read { $0.hasSuffix(end) } }

  /// The bytes until the server ends the connection.
  public func rest() async -> String { await read { _ in false } }

  private func read(until isWhole: @escaping @Sendable (String) -> Bool) async -> String {
    await withCheckedContinuation { continuation in
      // On a dedicated thread, since the call blocks.
      DispatchQueue.global().async { [self] in
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
          let count = recv(descriptor, &chunk, chunk.count, 0)
          guard count > 0 else { break }
          received += chunk.prefix(count)
          if isWhole(String(decoding: received, as: UTF8.self)) { break }
        }
        continuation.resume(returning: String(decoding: received, as: UTF8.self))
      }
    }
  }
}
