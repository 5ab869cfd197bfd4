import Dispatch
import Foundation
import Glibc

/// One client that listens to `events`.
final class EventSource: Sendable {
  struct Event: Sendable {
    var name = ""
    var id: String?
    var data = ""

    func fields() throws -> [String: Any] {
      try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any] ?? [:]
    }
  }

  private let descriptor: Int32
  private let lines: AsyncStream<String>

  /// Asks, and returns when the server has begun to answer.
  init(port: Int, token: String, lastEventID: String? = nil) async throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(clamping: port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
    var head = "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
    if let lastEventID { head += "Last-Event-ID: \(lastEventID)\r\n" }
    let bytes = Array((head + "\r\n").utf8)
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw POSIXError(.EPIPE)
    }
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    (self.descriptor, self.lines) = (descriptor, lines)
    let thread = Thread {
      var rest: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        rest += chunk.prefix(count)
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          line.yield(String(decoding: rest[..<end], as: UTF8.self).trimmingCharacters(in: ["\r"]))
          rest.removeFirst(end + 1)
        }
      }
      line.finish()
    }
    thread.start()
    for await line in lines where line == ": listening" { return }
    throw POSIXError(.ECONNRESET)
  }

  deinit { close(descriptor) }

  func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// The next event; nil when the server has ended the stream.
  func next() async -> Event? {
    var event = Event()
    for await line in lines {
      // The last chunk of the response; the connection stays open for another request.
      if line == "0" { return nil }
      let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
      switch parts.first {
      case "event": event.name = parts.last ?? ""
      case "id": event.id = parts.last
      case "data": event.data = parts.last ?? ""
      default: if !event.data.isEmpty { return event }
      }
    }
    return nil
  }
}
