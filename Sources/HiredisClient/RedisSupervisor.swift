import DequeModule
import Reactor

/// The loop-side half of a client: passes requests to the connection, or holds them until there is one.
actor RedisSupervisor: RedisRequestSink {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let configuration: RedisConfiguration
  private(set) var connection: RedisConnection?
  /// The reason why no connection will be made any more.
  private var finish: RedisError?
  private var lastFailure: RedisError?

  /// In the order of their deadlines, which is the order of arrival: all wait equally long.
  private var waiting: Deque<(request: RedisRequest, deadline: ContinuousClock.Instant)> = []
  private var timer: TimerID?

  init(configuration: RedisConfiguration, loop: EventLoop) {
    self.configuration = configuration
    self.loop = loop
  }

  func submit(_ request: RedisRequest) {
    if let connection, connection.assumeIsolated({ $0.submitIfOpen(request) }) { return }
    if let finish {
      request.fail(finish)
    } else if waiting.count >= configuration.waitingLimit {
      request.fail(unreachable("\(waiting.count) commands are already waiting for it"))
    } else {
      waiting.append((request, .now + configuration.connectTimeout))
      if timer == nil { arm(after: configuration.connectTimeout) }
    }
  }

  func attach(_ connection: RedisConnection) {
    self.connection = connection
    lastFailure = nil
    let held = waiting
    waiting = []
    for (request, _) in held where !request.isSettled { submit(request) }
  }

  /// Records why there is no connection. If waiting cannot help, all waiting requests fail immediately.
  func connectionFailed(_ error: RedisError) {
    connection = nil
    lastFailure = error
    guard error.code == .configuration else { return }
    let held = waiting
    waiting = []
    for (request, _) in held { request.fail(error) }
  }

  /// Closes permanently; waiting and later requests fail with `error`.
  func finish(with error: RedisError) async {
    finish = error
    let held = waiting
    waiting = []
    for (request, _) in held { request.fail(error) }
    if let timer { loop.cancel(timer) }
    timer = nil
    await connection?.close()
    connection = nil
  }

  private func arm(after delay: Duration) {
    timer = loop.schedule(after: delay) { [weak self] in
      self?.assumeIsolated { $0.failOverdue() }
    }
  }

  private func failOverdue() {
    timer = nil
    let now = ContinuousClock.now
    while let first = waiting.first, first.deadline <= now || first.request.isSettled {
      waiting.removeFirst()
      first.request.fail(unreachable("waited \(configuration.connectTimeout) for a connection"))
    }
    if let first = waiting.first { arm(after: first.deadline - now) }
  }

  private func unreachable(_ what: String) -> RedisError {
    let cause = lastFailure?.message ?? "\(configuration.displayName) is not connected yet"
    return RedisError(.connection, "\(cause) (\(what))", serverPrefix: lastFailure?.serverPrefix, isUnsent: true)
  }
}
