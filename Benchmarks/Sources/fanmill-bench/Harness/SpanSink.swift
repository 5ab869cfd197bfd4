import Foundation
import Glibc

/// A collector that takes spans and keeps nothing.
final class SpanSink: Sendable {
  private let socket: Int32
  let port: UInt16

  init() throws {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.socket = socket
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(socket, address, length) + listen(socket, 8) + getsockname(socket, address, &length)
      }
    }
    guard socket >= 0, status == 0 else { throw BenchError("no socket for spans: \(String(cString: strerror(errno)))") }
    port = UInt16(bigEndian: address.sin_port)
    let thread = Thread {
      while true {
        let client = accept(socket, nil, nil)
        if client < 0 { return }
        Self.serve(client)
        close(client)
      }
    }
    thread.name = "spans"
    thread.start()
  }

  func stop() {
    shutdown(socket, Int32(SHUT_RDWR))
    close(socket)
  }

  /// Answers each request of a connection once its body is read.
  private static func serve(_ client: Int32) {
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)
    let end = Data("\r\n\r\n".utf8)
    var held = Data()
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      if let head = held.range(of: end) {
        let text = String(decoding: held[..<head.lowerBound], as: UTF8.self).lowercased()
        let length = text.split(separator: "content-length: ").last.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
        if held.count >= head.upperBound + length {
          held = Data(held[(head.upperBound + length)...])
          guard write(client, answer, answer.count) == answer.count else { return }
          continue
        }
      }
      let count = read(client, &chunk, chunk.count)
      guard count > 0 else { return }
      held.append(contentsOf: chunk[..<count])
    }
  }
}
