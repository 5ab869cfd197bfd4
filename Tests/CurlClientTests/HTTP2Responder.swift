import Foundation
import Locking

/// A minimal HTTP/2 server (RFC 9113) behind an `OpenSSLServer`, which answers every stream with 200 and `ok`.
final class HTTP2Responder: Sendable {
  private let server: OpenSSLServer
  private let first: Int
  private let counter = Locked(0)

  /// The number of streams so far.
  var streams: Int { counter.withLock { $0 } }

  /// - Parameter first: the number of streams that have to be open before the first is answered.
  init(_ server: OpenSSLServer, holdingUntil first: Int) {
    self.server = server
    self.first = first
  }

  func start() { Thread { [self] in serve() }.start() }

  private enum Kind {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let settings: UInt8 = 4
    static let ping: UInt8 = 6
  }

  private func serve() {
    // A server that stops during a write must not end the tests.
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)
    var bytes: [UInt8] = []
    var waiting: [[UInt8]] = []
    let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    var isGreeted = false
    while case let more = server.received.availableData, !more.isEmpty {
      bytes += more
      if !isGreeted {
        guard bytes.count >= preface.count else { continue }
        guard bytes.starts(with: preface) else { return }
        bytes.removeFirst(preface.count)
        isGreeted = true
        send(Kind.settings, stream: [0, 0, 0, 0])
      }
      while let frame = takeFrame(&bytes) {
        switch frame.kind {
        case Kind.settings where frame.flags & 1 == 0: send(Kind.settings, flags: 1, stream: [0, 0, 0, 0])
        case Kind.ping where frame.flags & 1 == 0: send(Kind.ping, flags: 1, stream: frame.stream, frame.payload)
        case Kind.headers:
          waiting.append(frame.stream)
          guard
            counter.withLock({
              $0 += 1; return $0 >= first
            })
          else { continue }
          for stream in waiting {
            // 0x88 is `:status: 200` in HPACK's static table (RFC 7541).
            send(Kind.headers, flags: 4, stream: stream, [0x88])
            send(Kind.data, flags: 1, stream: stream, Array("ok".utf8))
          }
          waiting = []
        default: break
        }
      }
    }
  }

  private func takeFrame(_ bytes: inout [UInt8]) -> (kind: UInt8, flags: UInt8, stream: [UInt8], payload: [UInt8])? {
    guard bytes.count >= 9 else { return nil }
    let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
    guard bytes.count >= 9 + length else { return nil }
    defer { bytes.removeFirst(9 + length) }
    return (bytes[3], bytes[4], Array(bytes[5..<9]), Array(bytes[9..<9 + length]))
  }

  private func send(_ kind: UInt8, flags: UInt8 = 0, stream: [UInt8], _ payload: [UInt8] = []) {
    let count = payload.count
    let head = [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), kind, flags] + stream
    // If the server is gone, the reader notices.
    do { try server.send(head + payload) } catch {}
  }
}
