import Foundation
import Glibc
import Reactor
import Testing

@testable import HiredisClient

@Suite(.timeLimit(.minutes(2))) struct RedisSocketTests {
  /// A server that has no place left says so and hangs up, at times just before the client writes.
  @Test func readsWhatTheServerSaidBeforeAWriteInVain() async throws {
    let path = "/tmp/fanmill-\(UUID().uuidString.prefix(8))"
    let listener = try listen(on: path)
    var pipe: [Int32] = [0, 0]
    try #require(Glibc.pipe(&pipe) == 0)
    let (input, output) = (pipe[0], pipe[1])
    let loop = EventLoop()
    let reason: RedisError = await withCheckedContinuation { continuation in
      loop.execute {
        // Both are ready when the loop looks next, in this order.
        loop.register(input, interest: .read) { _ in
          loop.deregister(input)
          let peer = accept(listener, nil, nil)
          let text = "-ERR max number of clients reached\r\n"
          write(peer, text, text.utf8.count)
          close(peer)
        }
        write(output, "x", 1)
        do throws(RedisError) {
          let socket = try RedisSocket(.unix(path: path), loop: loop, commandTimeout: .seconds(60)) {
            continuation.resume(returning: $0)
          }
          socket.send(RedisSingleRequest(RedisCommand("PING"), timeout: .seconds(60)) { _ in })
        } catch {
          continuation.resume(returning: error)
        }
      }
    }
    #expect(reason.code == .connection)
    #expect(reason.message.contains("(the server said: ERR max number of clients reached)"), "\(reason)")
    loop.stop()
    for descriptor in [listener, input, output] { close(descriptor) }
    unlink(path)
  }

  private func listen(on path: String) throws -> Int32 {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isListening = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && Glibc.listen(listener, 1) == 0
      }
    }
    guard isListening else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return listener
  }
}
