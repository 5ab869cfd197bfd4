import Foundation
import Glibc

/// One HTTP request to this machine over its own connection with blocking calls, so that nothing is between the clock
/// and the socket.
enum HTTPCall {
  /// Opens a connection, which the caller closes.
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

  /// The response.
  struct Answer {
    let status: Int
    let body: Data
    fileprivate let head: String

    /// The first header of this name.
    func header(_ name: String) -> String? {
      head.split(whereSeparator: \.isNewline).dropFirst().lazy
        .map { $0.split(separator: ":", maxSplits: 1) }
        .first { $0.count == 2 && $0[0].lowercased() == name.lowercased() }
        .map { $0[1].trimmingCharacters(in: .whitespaces) }
    }
  }

  static func send(
    _ method: String, _ path: String, port: Int, token: String? = nil, headers: [String: String] = [:],
    body: String = ""
  ) throws -> Answer {
    try send(method, path, port: port, token: token, headers: headers, body: Array(body.utf8))
  }

  static func send(
    _ method: String, _ path: String, port: Int, token: String? = nil, headers: [String: String] = [:], body: [UInt8]
  ) throws -> Answer {
    let descriptor = try open(port: port)
    defer { close(descriptor) }
    var request = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    if let token { request += "Authorization: Bearer \(token)\r\n" }
    for (name, value) in headers { request += "\(name): \(value)\r\n" }
    if !body.isEmpty {
      if headers["Content-Type"] == nil { request += "Content-Type: application/json\r\n" }
      request += "Content-Length: \(body.count)\r\n"
    }
    var unsent = (Array((request + "\r\n").utf8) + body)[...]
    while !unsent.isEmpty {
      let count = unsent.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw BenchError("\(path): cannot be sent") }
      unsent = unsent.dropFirst(count)
    }
    return try answer(descriptor, path)
  }

  private static func answer(_ descriptor: Int32, _ path: String) throws -> Answer {
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
    return Answer(status: status, body: data[end.upperBound...], head: head)
  }
}
