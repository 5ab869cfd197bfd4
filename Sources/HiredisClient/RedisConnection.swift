import Reactor

/// One connection to a Redis server, on its event loop.
///
/// It does not reconnect when lost; `RedisClient` does. A dedicated connection is for blocking commands, such as
/// `XREADGROUP … BLOCK`, because every command sent after them waits too.
public actor RedisConnection: RedisCommandSender, RedisRequestSink {
  public nonisolated let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  /// The server's endpoint, as it was discovered.
  public nonisolated let endpoint: RedisConfiguration.Endpoint

  private var socket: RedisSocket?
  private var closeReason: RedisError?
  private var closeWaiters: [UInt64: CheckedContinuation<RedisError, Never>] = [:]
  private var nextWaiter: UInt64 = 0

  private init(_ endpoint: RedisConfiguration.Endpoint, loop: EventLoop) {
    self.endpoint = endpoint
    self.loop = loop
  }

  isolated deinit {
    socket?.close(.closed)
  }

  /// Connects to the configuration's first endpoint, authenticates and selects the database.
  ///
  /// - Throws: `.connection` if no address responds within `connectTimeout`; `.configuration` if the server refuses the
  ///   password or the database.
  public static func connect(
    _ configuration: RedisConfiguration, loop: EventLoop
  ) async throws(RedisError) -> RedisConnection {
    let deadline = ContinuousClock.now + configuration.connectTimeout
    var last = RedisError(.connection, "\(configuration.displayName) has no address")
    let endpoints = try await endpoints(of: configuration)
    for (index, endpoint) in endpoints.enumerated() {
      let connection = RedisConnection(configuration.endpoint, loop: loop)
      // An unresponsive address must leave time for the others.
      let share = (deadline - .now) / (endpoints.count - index)
      do throws(RedisError) {
        try await connection.open(endpoint, configuration, timeout: share)
        return connection
      } catch {
        await connection.close()
        last = error
        if error.code != .connection { break }
      }
    }
    throw last
  }

  /// Closes immediately. Commands waiting for a reply fail with `.closed`.
  public func close() {
    socket?.close(.closed)
  }

  public var isOpen: Bool { socket != nil }

  /// Waits until the connection is lost or closed and returns the reason; a cancelled task stops waiting.
  public func waitUntilClosed() async -> RedisError {
    nextWaiter += 1
    let number = nextWaiter
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let closeReason {
          continuation.resume(returning: closeReason)
        } else if Task.isCancelled {
          continuation.resume(returning: .cancelled)
        } else {
          closeWaiters[number] = continuation
        }
      }
    } onCancel: {
      loop.execute {
        self.assumeIsolated { $0.closeWaiters.removeValue(forKey: number)?.resume(returning: .cancelled) }
      }
    }
  }

  public nonisolated(nonsending) func send<Output: Sendable>(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output {
    try await perform(RedisSingleRequest(command, timeout: timeout, decode: decode))
  }

  public nonisolated(nonsending) func send<Output: Sendable>(
    pipeline commands: [RedisCommand], timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>] {
    if commands.isEmpty { return [] }
    return try await perform(RedisPipelineRequest(commands, timeout: timeout, decode: decode))
  }

  func submit(_ request: RedisRequest) {
    if !submitIfOpen(request) { request.fail(closeReason ?? .closed) }
  }

  /// - Returns: false if the connection is closed; the request is then untouched.
  func submitIfOpen(_ request: RedisRequest) -> Bool {
    guard let socket else { return false }
    socket.send(request)
    return true
  }

  // MARK: Connecting

  private func open(
    _ endpoint: RedisConfiguration.Endpoint, _ configuration: RedisConfiguration, timeout: Duration
  ) async throws(RedisError) {
    let place = configuration.displayName
    guard timeout > .zero else {
      throw RedisError(.connection, "\(place) did not answer within \(configuration.connectTimeout)")
    }
    let handshake = RedisHandshake(configuration)
    let request = RedisPipelineRequest(handshake.commands, timeout: timeout) { reply throws(RedisError) in reply.value }
    do throws(RedisError) {
      // The socket reports its end on the loop's thread, where the actor's isolation holds.
      socket = try RedisSocket(
        endpoint, loop: loop, commandTimeout: configuration.commandTimeout, tls: configuration.tlsStart
      ) {
        [weak self] reason in
        self?.assumeIsolated { $0.socketDidClose(reason) }
      }
      try handshake.check(try await perform(request))
    } catch {
      switch error.code {
      case .connection:
        // For example "max number of clients reached", after which the server closes the connection.
        let said = request.lastServerError.map { " (the server said: \($0.message))" } ?? ""
        throw RedisError(.connection, "\(place) is not reachable: \(error.message)\(said)")
      case .timeout: throw RedisError(.connection, "\(place) did not answer within \(configuration.connectTimeout)")
      default: throw error
      }
    }
  }

  private func socketDidClose(_ reason: RedisError) {
    socket = nil
    closeReason = reason
    let waiters = closeWaiters.values
    closeWaiters = [:]
    for waiter in waiters { waiter.resume(returning: reason) }
  }

  private static func endpoints(
    of configuration: RedisConfiguration
  ) async throws(RedisError) -> [RedisConfiguration.Endpoint] {
    guard case .tcp(let host, let port) = configuration.endpoint else { return [configuration.endpoint] }
    do throws(HostResolutionError) {
      return try await HostResolver.addresses(of: host).map { .tcp(host: $0, port: port) }
    } catch {
      throw RedisError(.connection, "\(configuration.displayName) is not reachable: \(error)")
    }
  }
}
