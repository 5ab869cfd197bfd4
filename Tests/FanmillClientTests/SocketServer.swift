import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// An HTTP server on a free port of this machine, for what only a real connection shows.
final class SocketServer: Sendable {
  struct Request: Sendable {
    /// From 0, in the order of the connections.
    var connection: Int
    /// The request line and the header fields, as they came.
    var head: String
    var body: Data

    func header(_ name: String) -> String? {
      for line in head.split(separator: "\r\n") {
        let field = line.split(separator: ":", maxSplits: 1)
        if field.count == 2, field[0].lowercased() == name { return field[1].trimmingCharacters(in: .whitespaces) }
      }
      return nil
    }
  }

  private let listener: Int32
  private let state = Mutex<[Request]>([])
  let url: URL

  var requests: [Request] { state.withLock(\.self) }

  /// - Parameter answer: the bytes of the response to each request, by its number from 0; nil closes the connection.
  init(_ answer: @escaping @Sendable (Int, Request) -> String?) throws {
    #if canImport(Glibc)
      let stream = Int32(SOCK_STREAM.rawValue)
    #else
      let stream = SOCK_STREAM
    #endif
    let listener = socket(AF_INET, stream, 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 16) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard bound, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
      throw POSIXError(.EADDRNOTAVAIL)
    }
    self.url = url
    Thread.detachNewThread { [weak self, listener] in
      var count = 0
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        let number = count
        count += 1
        Thread.detachNewThread { [weak self] in
          defer { close(connection) }
          while let request = Self.read(connection, number) {
            guard let self else { return }
            let index = self.state.withLock { requests in
              requests.append(request)
              return requests.count - 1
            }
            guard let text = answer(index, request) else { return }
            let bytes = Array(text.utf8)
            guard send(connection, bytes, bytes.count, 0) == bytes.count else { return }
          }
        }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private static func read(_ connection: Int32, _ number: Int) -> Request? {
    var bytes = Data()
    var chunk = [UInt8](repeating: 0, count: 65_536)
    var head: String?
    while true {
      if head == nil, let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) {
        head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        bytes = Data(bytes[end.upperBound...])
      }
      if let head {
        let request = Request(connection: number, head: head, body: bytes)
        if bytes.count >= request.header("content-length").flatMap({ Int($0) }) ?? 0 { return request }
      }
      let count = recv(connection, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      bytes += chunk.prefix(count)
    }
  }

  static func response(
    _ status: Int, _ body: String = "", headers: [String: String] = ["Content-Type": "application/json"]
  ) -> String {
    "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n"
      + headers.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n" + body
  }
}
