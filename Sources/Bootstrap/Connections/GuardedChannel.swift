import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import Social

/// A client's HTTP/1.1 connection under the server's limits.
struct GuardedChannel: ServerChildChannel {
  let http: HTTP1Channel
  let limits: ConnectionLimits
  let book: ConnectionBook

  func setup(channel: any NIOCore.Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    http.setup(channel: channel, logger: logger).flatMapThrowing { value in
      // The peer's real address: limits must not rely on what a client claims.
      let peer = channel.remoteAddress?.ipAddress
      let client = limits.proxies.contains(peer) ? nil : ClientAddress(peer).key
      let refusal = book.enter(client)
      if refusal == nil { channel.closeFuture.whenComplete { _ in book.leave(client) } }
      // Detects a peer that vanished silently by its unacknowledged data.
      try channel.syncOptions?.setOption(
        ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_USER_TIMEOUT)), value: 30_000)
      // Each connection keeps its buffer. Most requests are small, and for uploads the buffer grows; each connection
      // holds up to ten such buffers until they are written.
      try channel.syncOptions?.setOption(
        ChannelOptions.recvAllocator,
        value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 16_384))
      let watch = ConnectionWatch(limits, refusal: refusal)
      let pipeline = channel.pipeline.syncOperations
      let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try pipeline.addHandler(ConnectionPartsHandler(watch), position: .after(parser))
      try pipeline.addHandler(ConnectionBytesHandler(watch), position: .first)
      return value
    }
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async { await http.handle(value: value, logger: logger) }
}
