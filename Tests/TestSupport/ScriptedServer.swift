import Foundation
import Glibc
import Locking

/// A server on 127.0.0.1 that answers with the exact bytes of a test, however broken. Each connection has a thread.
public final class ScriptedServer: Sendable {
  private struct State {
    var connections: [Int32] = []
    var isStopped = false
  }

  public let port: Int
  private let listener: Int32
  private let state = Locked(State())
  private let counter = Locked((accepted: 0, requests: 0))

  /// The number of connections so far.
  public var accepted: Int { counter.withLock { $0.accepted } }
  /// The number of complete requests so far.
  public var requests: Int { counter.withLock { $0.requests } }

  public init(_ script: @escaping @Sendable (ScriptedConnection) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 1024) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    port = Int(UInt16(bigEndian: address.sin_port))
    self.listener = listener
    Thread { [self] in accept(script) }.start()
  }

  private func accept(_ script: @escaping @Sendable (ScriptedConnection) -> Void) {
    // Closed only by its reader: a descriptor closed elsewhere could be another server's by the next call here.
    defer { close(listener) }
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else { return }
      counter.withLock { $0.accepted += 1 }
      let isStopped = state.withLock { state in
        state.connections.append(descriptor)
        return state.isStopped
      }
      if isStopped { shutdown(descriptor, Int32(SHUT_RDWR)) }
      Thread { [self] in
        script(ScriptedConnection(descriptor) { self.counter.withLock { $0.requests += 1 } })
        // Under the lock, since a closed descriptor may be reused at once.
        state.withLock { state in
          state.connections.removeAll { $0 == descriptor }
          close(descriptor)
        }
      }.start()
    }
  }

  public func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    state.withLock { state in
      state.isStopped = true
      for descriptor in state.connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  /// A server that answers every request with the same bytes and then hangs up.
  public static func answering(_ answer: String) throws -> ScriptedServer {
    try answering(Array(answer.utf8))
  }

  public static func answering(_ answer: [UInt8]) throws -> ScriptedServer {
    try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write(answer)
    }
  }
}

public struct ScriptedConnection {
  private let descriptor: Int32
  private let didRead: () -> Void

  init(_ descriptor: Int32, didRead: @escaping () -> Void) {
    self.descriptor = descriptor
    self.didRead = didRead
  }

  /// The next request, head and body; nil if the client hung up.
  public func readRequest() -> String? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let text = String(decoding: bytes, as: UTF8.self)
      if let end = text.range(of: "\r\n\r\n") {
        let length = text[..<end.lowerBound].components(separatedBy: "\r\n").compactMap { line in
          line.lowercased().hasPrefix("content-length:")
            ? Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) : nil
        }.first
        if text[end.upperBound...].utf8.count >= length ?? 0 {
          didRead()
          return text
        }
      }
      let count = chunk.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      guard count > 0 else { return nil }
      bytes += chunk[..<count]
    }
  }

  /// - Returns: false if the client has hung up.
  @discardableResult
  public func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  @discardableResult
  public func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Answers with 200 and this body.
  @discardableResult
  public func answer(_ body: String) -> Bool {
    write("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nContent-Type: text/plain\r\n\r\n\(body)")
  }

  public func waitForHangUp() {
    var byte: UInt8 = 0
    while recv(descriptor, &byte, 1, 0) > 0 {}
  }

  /// Ends the connection as a crashed machine would: with a reset.
  public func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  /// Whether the client hangs up within a few milliseconds, for a slow server's pacing.
  public func hangsUp(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, milliseconds) > 0
  }
}
