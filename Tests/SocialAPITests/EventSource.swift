import Dispatch
import Foundation
import Glibc

/// A client of an `events` stream.
final class EventSource: Sendable {
  struct Event: Sendable {
    var name = ""
    var id: String?
    var data = ""

    func fields() throws -> [String: Any] {
      try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any] ?? [:]
    }
  }

  private let connection: Connection
  private let (lines, line) = AsyncStream.makeStream(of: String.self)

  /// Sends the request, and returns when the server has begun to respond.
  ///
  /// - Parameter isDeaf: reads nothing more until `readOn` or `hearRest`, with the smallest receive buffer.
  /// - Parameter posts: the posts whose threads are open.
  init(
    port: Int, token: String, posts: [Int] = [], lastEventID: String? = nil, isDeaf: Bool = false
  ) async throws {
    let connection = Connection()
    let descriptor = connection.descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    if isDeaf {
      var room: Int32 = 1024
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    }
    address.sin_port = UInt16(clamping: port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw POSIXError(.ECONNREFUSED) }
    let query = posts.isEmpty ? "" : "?posts=" + posts.map(String.init).joined(separator: ",")
    var head = "GET /v1/events\(query) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
    if let lastEventID { head += "Last-Event-ID: \(lastEventID)\r\n" }
    let bytes = Array((head + "\r\n").utf8)
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
      throw POSIXError(.EPIPE)
    }
    self.connection = connection
    if isDeaf {
      var byte: UInt8 = 0
      var head: [UInt8] = []
      while !String(decoding: head, as: UTF8.self).hasSuffix(": listening\n\n") {
        guard recv(descriptor, &byte, 1, 0) == 1 else { throw POSIXError(.ECONNRESET) }
        head.append(byte)
      }
      return
    }
    readOn()
    for await line in lines where line == ": listening" { return }
    throw POSIXError(.ECONNRESET)
  }

  /// Makes a deaf client read.
  func readOn() {
    var room: Int32 = 1 << 20
    setsockopt(connection.descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    Thread { [connection, line] in
      var rest: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(connection.descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        rest += chunk.prefix(count)
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          line.yield(String(decoding: rest[..<end], as: UTF8.self).trimmingCharacters(in: ["\r"]))
          rest.removeFirst(end + 1)
        }
      }
      line.finish()
    }.start()
  }

  deinit { hangUp() }

  func hangUp() { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }

  /// Reads everything sent to a deaf client, until the connection ends.
  ///
  /// - Returns: the number of bytes.
  func hearRest() async -> Int {
    await withCheckedContinuation { continuation in
      Thread { [connection] in
        var chunk = [UInt8](repeating: 0, count: 65536)
        var total = 0
        while true {
          let count = recv(connection.descriptor, &chunk, chunk.count, 0)
          guard count > 0 else { break }
          total += count
        }
        continuation.resume(returning: total)
      }.start()
    }
  }

  /// The next position in the stream, with or without an event.
  func nextID() async -> String? {
    for await line in lines where line.hasPrefix("id: ") { return String(line.dropFirst(4)) }
    return nil
  }

  /// The next event, compared with the API's document; nil when the server has ended the stream.
  func next() async -> Event? {
    var event = Event()
    for await line in lines {
      // The last chunk of the response; the connection stays open for further requests.
      if line == "0" { return nil }
      let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
      switch parts.first {
      case "event": event.name = parts.last ?? ""
      case "id": event.id = parts.last
      case "data": event.data = parts.last ?? ""
      default:
        if event.data.isEmpty { continue }
        DocumentChecker.check(event)
        return event
      }
    }
    return nil
  }
}

/// Closed when it is no longer referenced: not while a thread still reads, which would then read the data of the next
/// owner of the descriptor.
private final class Connection: Sendable {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)

  deinit { close(descriptor) }
}
