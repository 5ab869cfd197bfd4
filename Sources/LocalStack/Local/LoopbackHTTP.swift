import DurableJobsAdmin
import Foundation
import Glibc

/// HTTP/1.1 to a server on 127.0.0.1 with one connection per request: for the local stack's readiness checks and the
/// demo's posts.
///
/// A request blocks its thread, at most for `patience`; use a real client for heavier traffic.
public struct LoopbackHTTP: Sendable {
  /// The server's response.
  public struct Answer: Sendable {
    public let status: Int
    /// By lowercase names.
    public let headers: [String: String]
    public let body: [UInt8]

    /// Reads the body as JSON.
    public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try JSONDecoder().decode(type, from: Data(body))
    }
  }

  public let port: Int
  public var patience = 10

  public init(port: Int) { self.port = port }

  /// - Parameter type: the body's media type.
  /// - Throws: `.failed` if there is no response.
  public func send(
    _ method: String, _ path: String, token: String? = nil, body: [UInt8] = [], type: String = "application/json",
    headers: [String: String] = [:]
  ) throws(OperationError) -> Answer {
    let descriptor = try connect()
    defer { close(descriptor) }
    var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
    if let token { head += "Authorization: Bearer \(token)\r\n" }
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if !body.isEmpty || method == "POST" {
      head += "Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n"
    }
    var unsent = (Array((head + "\r\n").utf8) + body)[...]
    while !unsent.isEmpty {
      // `MSG_NOSIGNAL`: a server that hangs up causes an error instead of killing this program.
      let count = unsent.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw failure("it closed the connection") }
      unsent = unsent.dropFirst(count)
    }
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = chunk.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count == 0 { break }
      guard count > 0 else { throw failure("no answer within \(patience) seconds") }
      received += chunk.prefix(count)
    }
    return try parse(received)
  }

  /// Whether `GET path` returns 200.
  public func isReady(_ path: String = "/readyz") -> Bool {
    do { return try send("GET", path).status == 200 } catch { return false }
  }

  private func connect() throws(OperationError) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var limit = timeval(tv_sec: patience, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(clamping: port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      let reason = String(cString: strerror(errno))
      close(descriptor)
      throw failure(reason)
    }
    return descriptor
  }

  /// Parses a head, an empty line, and the body up to the end of the connection.
  private func parse(_ bytes: [UInt8]) throws(OperationError) -> Answer {
    let words = bytes.prefix(256).split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count == 3, let status = Int(String(decoding: words[1].prefix(3), as: UTF8.self)) else {
      throw failure("its answer is not HTTP")
    }
    let border = Array("\r\n\r\n".utf8)
    guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: border) }) else {
      throw failure("its answer is truncated")
    }
    var headers: [String: String] = [:]
    for line in String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n").dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    return Answer(status: status, headers: headers, body: Array(bytes[(end + border.count)...]))
  }

  private func failure(_ reason: String) -> OperationError {
    OperationError(.failed, "the server on 127.0.0.1:\(port) does not answer: \(reason)")
  }
}
