import NIOCore
import NIOHTTP1

/// Closes a client's connection when the client is too slow, and when a stream's client is gone.
///
/// Confined to the connection's loop, and shared by the handlers before and behind the parser.
final class ConnectionWatch {
  var timing: ConnectionTiming
  /// The reason why the connection is not served; nil if it is.
  let refusal: ConnectionBook.Refusal?
  private let limits: ConnectionLimits
  private var timer: (task: Scheduled<Void>, at: NIODeadline)?
  /// The context of the handler next to the socket, while it is in the pipeline.
  var socket: ChannelHandlerContext?
  /// Whether the client has closed its sending side.
  private var isInputClosed = false
  /// Whether part of a response has been written.
  private var isResponding = false
  /// Whether the response is an event stream, which ends with its client.
  private var isStreaming = false

  init(_ limits: ConnectionLimits, refusal: ConnectionBook.Refusal?) {
    self.limits = limits
    self.refusal = refusal
    timing = ConnectionTiming(limits, connectedAt: .now())
  }

  /// Sets the timer, unless an earlier one is set.
  func arm() {
    guard let socket, socket.channel.isActive, let next = timing.next?.at else { return }
    if let timer, timer.at <= next { return }
    timer?.task.cancel()
    let bound = NIOLoopBound(self, eventLoop: socket.eventLoop)
    timer = (socket.eventLoop.scheduleTask(deadline: next) { bound.value.check() }, next)
  }

  private func check() {
    timer = nil
    guard let next = timing.next else { return }
    guard next.at <= .now() else { return arm() }
    switch next.delay {
    case .head: say(.headTimeout(limits.head))
    case .body where !isResponding: say(.bodyTimeout(limits.body))
    default: break
    }
    socket?.close(promise: nil)
  }

  func refuse(_ refusal: ConnectionBook.Refusal) {
    switch refusal {
    case .full: say(.full)
    case .tooManyOfClient: say(.tooManyOfClient(limits.perClient))
    }
    socket?.close(promise: nil)
  }

  private func say(_ notice: ConnectionNotice) {
    guard let socket else { return }
    socket.writeAndFlush(NIOAny(socket.channel.allocator.buffer(string: notice.text)), promise: nil)
  }

  func inputClosed() {
    isInputClosed = true
    if isStreaming { socket?.close(promise: nil) }
  }

  func wroteHead(_ head: HTTPResponseHead) {
    isResponding = true
    isStreaming = head.headers.first(name: "content-type")?.hasPrefix("text/event-stream") == true
    if isStreaming, isInputClosed { socket?.close(promise: nil) }
  }

  func wroteEnd() {
    isResponding = false
    isStreaming = false
    timing.answered(at: .now())
  }

  func stop() {
    timer?.task.cancel()
    timer = nil
  }
}

/// Next to the socket: handles bytes.
final class ConnectionBytesHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let watch: ConnectionWatch

  init(_ watch: ConnectionWatch) { self.watch = watch }

  func channelActive(context: ChannelHandlerContext) {
    if let refusal = watch.refusal { return watch.refuse(refusal) }
    watch.arm()
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard watch.refusal == nil else { return }
    watch.timing.received(unwrapInboundIn(data).readableBytesView, at: .now())
    context.fireChannelRead(data)
    watch.timing.parsed(at: .now())
    watch.arm()
  }

  /// Runs before the handlers behind request more bytes, which they do immediately unless they hold too many.
  func channelReadComplete(context: ChannelHandlerContext) {
    watch.timing.stopsAsking(at: .now())
    context.fireChannelReadComplete()
  }

  func read(context: ChannelHandlerContext) {
    watch.timing.asks(at: .now())
    watch.arm()
    context.read()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    watch.timing.changedWritability(context.channel.isWritable, at: .now())
    watch.arm()
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .inputClosed = event as? ChannelEvent { watch.inputClosed() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    watch.stop()
    context.fireChannelInactive()
  }

  func handlerAdded(context: ChannelHandlerContext) { watch.socket = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    watch.stop()
    watch.socket = nil
  }
}

/// Behind the parser: handles parts of requests and responses.
final class ConnectionPartsHandler: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let watch: ConnectionWatch

  init(_ watch: ConnectionWatch) { self.watch = watch }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: watch.timing.receivedHead(at: .now())
    case .body(let bytes): watch.timing.receivedBody(bytes.readableBytesView)
    case .end: watch.timing.receivedEnd(at: .now())
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let part = unwrapOutboundIn(data)
    context.write(data, promise: promise)
    switch part {
    case .head(let head): watch.wroteHead(head)
    case .body: break
    case .end:
      watch.wroteEnd()
      watch.arm()
    }
  }
}
