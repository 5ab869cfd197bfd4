import Reactor

/// Sends commands: a connection, or a client that maintains one.
///
/// Any task may call all forms. Commands of one turn of the event loop leave in one write, so many tasks that each send
/// one command are pipelined automatically; a task with many commands should use the pipeline form, which suspends
/// once.
///
/// In all forms, a cancelled task gets `.cancelled` immediately, whether or not the server executes the command.
public protocol RedisCommandSender: Sendable {
  var loop: EventLoop { get }

  /// Sends one command and decodes its reply in place, on the event loop.
  ///
  /// - Parameter timeout: how long to wait for the reply; nil for the configured limit.
  /// - Throws: `.server` for an error reply, any error of `decode`, or the reason why no reply came.
  nonisolated(nonsending) func send<Output: Sendable>(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output

  /// Sends commands together and waits for all replies, which come in the commands' order.
  ///
  /// - Returns: each command's decoded reply, or its error reply. Commands are independent: a failure stops no other
  ///   command.
  /// - Throws: if any reply is missing. The server may or may not have executed those commands.
  nonisolated(nonsending) func send<Output: Sendable>(
    pipeline commands: [RedisCommand], timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>]
}

extension RedisCommandSender {
  /// Sends one command and decodes its reply in place, within the configured limit.
  public nonisolated(nonsending) func send<Output: Sendable>(
    _ command: RedisCommand, decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output {
    try await send(command, timeout: nil, decode: decode)
  }

  /// Sends one command and returns a copy of its reply.
  @discardableResult
  public nonisolated(nonsending) func send(
    _ command: RedisCommand, timeout: Duration? = nil
  ) async throws(RedisError) -> RedisValue {
    try await send(command, timeout: timeout) { reply throws(RedisError) in reply.value }
  }

  /// Sends commands together and decodes each reply, within the configured limit.
  public nonisolated(nonsending) func send<Output: Sendable>(
    pipeline commands: [RedisCommand], decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>] {
    try await send(pipeline: commands, timeout: nil, decode: decode)
  }

  /// Sends commands together and returns copies of their replies.
  public nonisolated(nonsending) func send(
    pipeline commands: [RedisCommand], timeout: Duration? = nil
  ) async throws(RedisError) -> [Result<RedisValue, RedisError>] {
    try await send(pipeline: commands, timeout: timeout) { reply throws(RedisError) in reply.value }
  }

  /// Runs a script by its digest, and sends the source only to a server that does not have it.
  ///
  /// - Parameter keys: every key that the script accesses, all in one hash slot.
  public nonisolated(nonsending) func evaluate<Output: Sendable>(
    _ script: RedisScript, keys: [any RedisArgument], arguments: [any RedisArgument] = [], timeout: Duration? = nil,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output {
    do throws(RedisError) {
      return try await send(script.command(keys: keys, arguments: arguments), timeout: timeout, decode: decode)
    } catch {
      guard error.serverPrefix == "NOSCRIPT" else { throw error }
      return try await send(
        script.commandWithSource(keys: keys, arguments: arguments), timeout: timeout, decode: decode)
    }
  }

  /// Runs a script and returns a copy of its reply.
  @discardableResult
  public nonisolated(nonsending) func evaluate(
    _ script: RedisScript, keys: [any RedisArgument], arguments: [any RedisArgument] = [], timeout: Duration? = nil
  ) async throws(RedisError) -> RedisValue {
    try await evaluate(script, keys: keys, arguments: arguments, timeout: timeout) { reply throws(RedisError) in
      reply.value
    }
  }
}

/// An actor on the event loop that accepts requests.
protocol RedisRequestSink: Actor {
  nonisolated var loop: EventLoop { get }
  func submit(_ request: RedisRequest)
}

extension RedisRequestSink {
  /// Passes the request to the loop and waits for its outcome.
  ///
  /// A caller on the loop's own thread enters directly, without a hop to the actor, which makes tasks with the loop as
  /// executor cheap. Other callers pass through the loop's inbox once.
  nonisolated(nonsending) func perform<Output>(
    _ request: RedisReplyRequest<Output>
  ) async throws(RedisError) -> Output {
    if let error = await outcome(of: request) { throw error }
    return try request.output()
  }

  private nonisolated(nonsending) func outcome(of request: RedisRequest) async -> RedisError? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        onLoop { sink in
          if request.start(continuation) { sink.submit(request) }
        }
      }
    } onCancel: {
      onLoop { _ in request.fail(.cancelled) }
    }
  }

  private nonisolated func onLoop(_ body: @escaping @Sendable (isolated Self) -> Void) {
    if loop.isCurrent {
      assumeIsolated(body)
    } else {
      loop.execute { self.assumeIsolated(body) }
    }
  }
}
