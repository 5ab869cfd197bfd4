import Reactor

/// What commands can be sent through: a connection, or a client that keeps one.
///
/// All forms may be called from any task. Commands of one turn of the event loop leave in one write, so many tasks that
/// send one command each are pipelined by themselves; a task with many commands uses the pipeline form, which suspends
/// once.
///
/// In each, a cancelled task gets `.cancelled` at once, whether or not the server carries the command out.
public protocol RedisCommandSender: Sendable {
  var loop: EventLoop { get }

  /// Sends one command and decodes its reply where it lies, on the event loop.
  ///
  /// - Parameter timeout: how long to wait for the reply instead of the configured limit.
  /// - Throws: `.server` for an error reply, what `decode` throws, or why no reply came.
  nonisolated(nonsending) func send<Output: Sendable>(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output

  /// Sends commands together and waits for all replies, which come in the commands' order.
  ///
  /// - Returns: each command's decoded reply, or its error reply. Commands are independent: one that fails stops no
  ///   other.
  /// - Throws: when not every reply arrived. What the server did with the rest is unknown.
  nonisolated(nonsending) func send<Output: Sendable>(
    pipeline commands: [RedisCommand], timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>]
}

extension RedisCommandSender {
  /// Sends one command and decodes its reply where it lies, within the configured limit.
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

  /// Runs a script by its digest; sends the source only to a server that does not know it.
  ///
  /// - Parameter keys: every key the script touches, all of one hash slot.
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

/// An actor on the loop that takes requests.
protocol RedisRequestSink: Actor {
  nonisolated var loop: EventLoop { get }
  func submit(_ request: RedisRequest)
}

extension RedisRequestSink {
  /// Hands the request to the loop and waits for its outcome.
  ///
  /// A caller on the loop's own thread goes in directly, without a hop to the actor: that is what makes a task with the
  /// loop as its executor cheap. Another comes through the loop's inbox, once.
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
