internal import CHiredis
import DequeModule
import Glibc
import Reactor

/// The only owner of a hiredis context: created, used and freed here, on the event loop's thread.
///
/// hiredis calls the file-scope functions below, which find this object through its private pointers.
final class RedisSocket {
  let loop: EventLoop
  private let commandTimeout: Duration
  private let didClose: (RedisError) -> Void
  private var tls: RedisTLSSession?

  /// nil once hiredis drops the context.
  private(set) var context: UnsafeMutablePointer<redisAsyncContext>?
  private var descriptor: Int32 = -1
  private var interest: EventLoop.Readiness = .write
  private var isFlushing = false
  private var flushIsDue = false

  private var sentSequence: UInt64 = 0
  private var answeredSequence: UInt64 = 0
  /// The last command with the connection's limit; a command with its own limit has a separate timer.
  private var limitedSequence: UInt64 = 0
  private var lateSequence: UInt64 = 0
  private var closeReason: RedisError?

  /// The reply deadlines of commands written by the end of a turn: one mark per turn, not one per command.
  private var marks: Deque<(sequence: UInt64, deadline: ContinuousClock.Instant)> = []
  private var markTimer: TimerID?

  /// Starts connecting. Commands may be sent immediately; they leave once connected.
  ///
  /// - Parameter endpoint: a unix path, or a *numeric* address: resolving a name here would block the loop.
  /// - Parameter tls: the TLS settings and the name that the server's certificate must match; nil for an unencrypted
  ///   connection.
  /// - Parameter didClose: called once, on the loop, after every waiting request has failed.
  init(
    _ endpoint: RedisConfiguration.Endpoint, loop: EventLoop, commandTimeout: Duration,
    tls: (start: RedisTLS, host: String)? = nil, didClose: @escaping (RedisError) -> Void
  ) throws(RedisError) {
    loop.preconditionIsCurrent()
    self.loop = loop
    self.commandTimeout = commandTimeout
    self.didClose = didClose
    let made: UnsafeMutablePointer<redisAsyncContext>? =
      switch endpoint {
      case .tcp(let host, let port): redisAsyncConnect(host, Int32(port))
      case .unix(let path): redisAsyncConnectUnix(path)
      }
    guard let made else { throw RedisError(.connection, "out of memory for a connection") }
    if made.pointee.err != 0 {
      let text = Self.errorText(made)
      redisAsyncFree(made)
      throw RedisError(.connection, text)
    }
    do throws(RedisError) {
      self.tls = try tls.map { tls throws(RedisError) in try tls.start.start(&made.pointee.c, host: tls.host) }
    } catch {
      redisAsyncFree(made)
      throw error
    }
    context = made
    descriptor = made.pointee.c.fd
    // Child processes must not inherit the connection.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    if case .tcp = endpoint { redisEnableKeepAlive(&made.pointee.c) }
    installHooks(made)
    // The closure retains the socket while hiredis holds pointers to it: until `contextIsGoing`.
    loop.register(descriptor, interest: .write) { self.ready($0) }
  }

  var isOpen: Bool { context != nil }

  // MARK: Sending

  /// Appends the request's commands to the output, which leaves at the end of the turn.
  func send(_ request: RedisRequest) {
    guard let context else {
      request.fail(closeReason ?? .closed)
      return
    }
    if request.commands.contains(where: \.startsStream) {
      request.fail(RedisError(.configuration, "this client does not support SUBSCRIBE, MONITOR and similar commands"))
      return
    }
    let retained = Unmanaged.passRetained(request)
    for command in request.commands {
      let status = command.withWireBytes { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          redisAsyncFormattedCommand(context, replyArrived, retained.toOpaque(), $0.baseAddress, $0.count)
        }
      }
      guard status == REDIS_OK else {
        // Out of memory, or a command that hiredis does not accept as an ordinary one.
        if request.outstanding == 0 { retained.release() }
        request.fail(RedisError(.connection, "the command was not accepted for sending"))
        close(RedisError(.connection, "a command was not accepted for sending"))
        return
      }
      request.outstanding += 1
    }
    sentSequence += UInt64(request.outstanding)
    request.lastSequence = sentSequence
    guard request.outstanding > 0 else { return retained.release() }
    guard let timeout = request.timeout else {
      limitedSequence = sentSequence
      return
    }
    watch(request, for: timeout, limit: timeout)
  }

  /// Fails all waiting requests, and frees the context.
  func close(_ reason: RedisError) {
    guard let context else { return }
    closeReason = closeReason ?? reason
    redisAsyncFree(context)
  }

  // MARK: Called by the hooks

  fileprivate func ready(_ readiness: EventLoop.Readiness) {
    // Read first: replies that arrived before the server went away are delivered before the write fails.
    if readiness.contains(.read), let context { redisAsyncHandleRead(context) }
    if readiness.contains(.write), let context { redisAsyncHandleWrite(context) }
  }

  func wantsToWrite() {
    if isFlushing || !isConnected {
      watch(interest.union(.write))
    } else if !flushIsDue {
      flushIsDue = true
      loop.atTurnEnd { self.flush() }
    }
  }

  func watch(_ readiness: EventLoop.Readiness) {
    guard readiness != interest else { return }
    interest = readiness
    loop.setInterest(readiness, for: descriptor)
  }

  var watched: EventLoop.Readiness { interest }

  func countReply() { answeredSequence += 1 }

  /// The server was demoted; reconnecting finds the new master.
  func serverIsNoMaster() {
    close(RedisError(.connection, "the server refuses to write (READONLY): it is a replica", serverPrefix: "READONLY"))
  }

  /// The reason why `request` gets no reply, once hiredis drops the connection.
  func failure(for request: RedisRequest, _ context: UnsafeMutablePointer<redisAsyncContext>) -> RedisError {
    if request.timeout == nil, request.lastSequence <= lateSequence { return Self.timedOut(commandTimeout) }
    return reason(context)
  }

  func contextIsGoing(_ context: UnsafeMutablePointer<redisAsyncContext>) {
    let reason = reason(context)
    closeReason = reason
    loop.deregister(descriptor)
    self.context = nil
    if let markTimer { loop.cancel(markTimer) }
    markTimer = nil
    marks.removeAll()
    didClose(reason)
  }

  // MARK: Writing and deadlines

  private var isConnected: Bool {
    guard let context else { return false }
    return context.pointee.c.flags & REDIS_CONNECTED != 0
  }

  /// Writes the turn's output with one system call.
  private func flush() {
    flushIsDue = false
    guard let context else { return }
    mark()
    // A full socket signals when it is writable again.
    if interest.contains(.write) { return }
    isFlushing = true
    redisAsyncHandleWrite(context)
    isFlushing = false
  }

  private func mark() {
    while let first = marks.first, first.sequence <= answeredSequence { marks.removeFirst() }
    guard marks.last?.sequence != limitedSequence, answeredSequence < limitedSequence else { return }
    marks.append((limitedSequence, .now + commandTimeout))
    if markTimer == nil { armMarkTimer(after: commandTimeout) }
  }

  private func armMarkTimer(after delay: Duration) {
    markTimer = loop.schedule(after: delay) { [weak self] in self?.checkMarks() }
  }

  private func checkMarks() {
    markTimer = nil
    var isArriving = false
    if let first = marks.first, first.deadline <= .now { isArriving = drain() }
    while let first = marks.first, first.sequence <= answeredSequence { marks.removeFirst() }
    guard let first = marks.first else { return }
    let rest = first.deadline - .now
    if rest > .zero {
      armMarkTimer(after: rest)
    } else if isArriving {
      armMarkTimer(after: commandTimeout / 8)
    } else {
      lateSequence = first.sequence
      close(Self.closedAsLate)
    }
  }

  /// Starts a separate timer for a request with its own limit.
  private func watch(_ request: RedisRequest, for delay: Duration, limit: Duration) {
    request.timer = loop.schedule(after: delay) { [weak self, weak request] in
      guard let self, let request else { return }
      let isArriving = self.drain()
      if request.outstanding == 0 { return }
      if isArriving { return self.watch(request, for: limit / 8, limit: limit) }
      request.fail(Self.timedOut(limit))
      self.close(Self.closedAsLate)
    }
  }

  /// Reads pending input before anything is declared late: after this process was suspended (a debugger, `SIGSTOP`, a
  /// sleeping machine), deadlines have passed while replies wait unread.
  ///
  /// - Returns: whether there was input. A large reply is not late while it keeps arriving.
  private func drain() -> Bool {
    var chunks = 0
    while chunks < 64, hasInput, let context {
      redisAsyncHandleRead(context)
      chunks += 1
    }
    return chunks > 0
  }

  private var hasInput: Bool {
    guard context != nil else { return false }
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, 0) > 0
  }

  // MARK: Errors

  private func reason(_ context: UnsafeMutablePointer<redisAsyncContext>) -> RedisError {
    if let closeReason { return closeReason }
    if let refusal = tls?.refusal { return RedisError(.connection, refusal) }
    let code: RedisError.Code = context.pointee.err == REDIS_ERR_PROTOCOL ? .protocol : .connection
    let text = context.pointee.err == 0 ? "the connection ended" : Self.errorText(context)
    let reason = RedisError(code, text + (lastWords.map { " (the server said: \($0))" } ?? ""))
    closeReason = reason
    return reason
  }

  /// The error that waits unread when a write is the first to notice that the server hung up, such as "max number of
  /// clients reached". hiredis reads no more then.
  private var lastWords: String? {
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    guard count > 0, bytes[0] == UInt8(ascii: "-") else { return nil }
    return String(decoding: bytes[1..<count].prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
  }

  private static func errorText(_ context: UnsafeMutablePointer<redisAsyncContext>) -> String {
    guard let text = context.pointee.errstr else { return "unknown error" }
    return String(cString: text)
  }

  private static var closedAsLate: RedisError {
    RedisError(.connection, "the connection was closed because a command sent on it got no reply in time")
  }

  private static func timedOut(_ limit: Duration) -> RedisError {
    RedisError(.timeout, "no reply within \(limit); the command may or may not have been carried out")
  }
}

// hiredis's callbacks. They are file-scope functions because a closure written inside isolated code would carry that
// isolation and trap when C calls it. All run on the loop's thread, inside a call from `RedisSocket` to hiredis.

extension RedisSocket {
  func installHooks(_ context: UnsafeMutablePointer<redisAsyncContext>) {
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    context.pointee.data = pointer
    context.pointee.ev.data = pointer
    context.pointee.ev.addRead = socketAddRead
    context.pointee.ev.delRead = socketRemoveRead
    context.pointee.ev.addWrite = socketAddWrite
    context.pointee.ev.delWrite = socketRemoveWrite
    context.pointee.ev.cleanup = socketCleanUp
  }
}

private func socket(_ pointer: UnsafeMutableRawPointer?) -> RedisSocket? {
  guard let pointer else { return nil }
  return Unmanaged<RedisSocket>.fromOpaque(pointer).takeUnretainedValue()
}

private func socketAddRead(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer) else { return }
  socket.watch(socket.watched.union(.read))
}

private func socketRemoveRead(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer) else { return }
  socket.watch(socket.watched.subtracting(.read))
}

private func socketAddWrite(_ pointer: UnsafeMutableRawPointer?) {
  socket(pointer)?.wantsToWrite()
}

private func socketRemoveWrite(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer) else { return }
  socket.watch(socket.watched.subtracting(.write))
}

private func socketCleanUp(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer), let context = socket.context else { return }
  socket.contextIsGoing(context)
}

/// One command's reply; nil if the connection ends.
func replyArrived(
  _ context: UnsafeMutablePointer<redisAsyncContext>?, _ reply: UnsafeMutableRawPointer?,
  _ privateData: UnsafeMutableRawPointer?
) {
  guard let context, let privateData, let socket = socket(context.pointee.data) else { return }
  let retained = Unmanaged<RedisRequest>.fromOpaque(privateData)
  let request = retained.takeUnretainedValue()
  socket.countReply()
  if let reply {
    let reply = RedisReply(UnsafePointer(reply.assumingMemoryBound(to: redisReply.self)))
    if !request.isSettled { request.receive(reply) }
    if reply.isReadOnlyRefusal { socket.serverIsNoMaster() }
  } else {
    request.fail(socket.failure(for: request, context))
  }
  request.outstanding -= 1
  guard request.outstanding == 0 else { return }
  if let timer = request.timer { socket.loop.cancel(timer) }
  retained.release()
}
