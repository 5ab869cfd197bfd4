import Foundation
import Glibc

/// One HTTP request to this machine, over a connection of its own, by blocking calls: nothing between the clock and the
/// socket.
enum HTTPCall {
  /// A connection; the caller closes it.
  static func open(port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw BenchError("no socket: errno \(errno)") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      let reason = errno
      close(descriptor)
      throw BenchError("port \(port) does not accept: errno \(reason)")
    }
    return descriptor
  }

  /// - Returns: the status and the body.
  static func send(
    _ method: String, _ path: String, port: Int, token: String? = nil, body: String = ""
  ) throws -> (status: Int, body: Data) {
    let descriptor = try open(port: port)
    defer { close(descriptor) }
    var request = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    if let token { request += "Authorization: Bearer \(token)\r\n" }
    if !body.isEmpty { request += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
    let bytes = Array((request + "\r\n" + body).utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw BenchError("\(path): cannot be sent") }
    return try answer(descriptor, path)
  }

  private static func answer(_ descriptor: Int32, _ path: String) throws -> (status: Int, body: Data) {
    var data = Data()
    var piece = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = read(descriptor, &piece, piece.count)
      if count <= 0 { break }
      data.append(contentsOf: piece[..<count])
    }
    guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { throw BenchError("\(path): no answer") }
    let head = String(decoding: data[..<end.lowerBound], as: UTF8.self)
    guard let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw BenchError("\(path): not an HTTP answer")
    }
    return (status, data[end.upperBound...])
  }
}
