import Logging
import Reactor

/// The pool's state and actions, on its connections' loop: leasing a connection costs no thread switch.
actor PoolCore {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private struct Waiter {
    var continuation: CheckedContinuation<Result<PoolState<PostgresConnection>.Idle, PostgresError>, Never>
    var timer: TimerID
  }

  private let configuration: PostgresConfiguration
  private let waitLimit: Duration
  private let logger: Logger
  private var state: PoolState<PostgresConnection>
  private var waiters: [UInt64: Waiter] = [:]
  private var lastID: UInt64 = 0
  private var lastFailure: PostgresError?
  private var lastFailureTime: ContinuousClock.Instant?
  /// Whether any connection was ever opened.
  private var hasOpened = false
  /// Tells `run()` to open a connection.
  private let openings: AsyncStream<Duration>
  private let open: AsyncStream<Duration>.Continuation

  /// How long an idle connection is trusted.
  private static let trust = Duration.seconds(30)

  init(
    configuration: PostgresConfiguration, size: Int, waitLimit: Duration, loop: EventLoop, logger: Logger
  ) {
    self.configuration = configuration
    self.waitLimit = waitLimit
    self.loop = loop
    self.logger = logger
    state = PoolState(size: size)
    (openings, open) = AsyncStream.makeStream(of: Duration.self)
  }

  var usage: (idle: Int, leased: Int, waiting: Int) { (state.idleCount, state.leasedCount, state.waiterCount) }

  // MARK: Leases

  /// Runs statements on an idle connection in one visit to the loop; if there is none, on the next one released.
  nonisolated(nonsending) func run(
    _ queries: [PostgresQuery], _ timeout: Duration?
  ) async throws(PostgresError) -> [PostgresRows] {
    let request = try PostgresRequest(queries, timeout: timeout ?? configuration.queryTimeout)
    let outcome = await request.outcome(on: loop) { request in self.assumeIsolated { $0.start(request) } }
    if let outcome { return try outcome.get() }
    let connection = try await lease()
    defer { releaseSoon(connection) }
    return try await connection.submit(queries, timeout: timeout)
  }

  private func start(_ request: PostgresRequest) {
    guard !state.isClosed, let idle = state.takeIdle(if: trusts) else { return request.giveBack() }
    request.onEnd = { self.release(idle.connection) }
    idle.connection.assumeIsolated { $0.start(request) }
  }

  /// Whether the connection can be used without a test: the server may just have gone, or a firewall may have silently
  /// dropped the connection.
  private func trusts(_ idle: PoolState<PostgresConnection>.Idle) -> Bool {
    let rest = .now - idle.since
    return rest < .milliseconds(5) || rest < Self.trust && !idle.connection.assumeIsolated { $0.hasUnreadInput }
  }

  func lease() async throws(PostgresError) -> PostgresConnection {
    while true {
      if let refusal { throw refusal }
      let idle = if let idle = state.takeIdle() { idle } else { try await waitForConnection() }
      if trusts(idle) { return idle.connection }
      do {
        _ = try await idle.connection.submit([""], timeout: .seconds(1))
        return idle.connection
      } catch {
        if error.code != .cancelled { await idle.connection.close() }
        release(idle.connection)
      }
    }
  }

  /// The reason why the current task gets no connection.
  private var refusal: PostgresError? {
    if Task.isCancelled { return PostgresError(.cancelled, "cancelled before a connection was available") }
    if state.isClosed { return PostgresError(.connection, "the pool is closed") }
    if let deadline = Deadline.current, deadline.hasPassed {
      return PostgresError(.timeout, "the deadline passed before a connection was available")
    }
    return nil
  }

  private func waitForConnection() async throws(PostgresError) -> PoolState<PostgresConnection>.Idle {
    lastID += 1
    let id = lastID
    let limit = Deadline.shortened(waitLimit)
    let outcome: Result<PoolState<PostgresConnection>.Idle, PostgresError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Check again: during any await so far, the loop may have run, and a connection may have been released, the
        // pool closed or the task cancelled. From here on there is no await.
        if let refusal { return continuation.resume(returning: .failure(refusal)) }
        if let idle = state.takeIdle(orWait: id) { return continuation.resume(returning: .success(idle)) }
        let timer = loop.schedule(after: limit) { [weak self] in
          self?.assumeIsolated { $0.giveUp(id, after: limit) }
        }
        waiters[id] = Waiter(continuation: continuation, timer: timer)
        openWhatIsNeeded()
      }
    } onCancel: {
      loop.execute { [weak self] in self?.assumeIsolated { $0.giveUp(id, after: nil) } }
    }
    return try outcome.get()
  }

  /// - Parameter limit: how long it waited; nil if it was cancelled.
  private func giveUp(_ id: UInt64, after limit: Duration?) {
    guard state.giveUp(id) else { return }
    guard let limit else {
      return resume(id, .failure(PostgresError(.cancelled, "cancelled while waiting for a connection")))
    }
    if let lastFailure, state.failures > 0 { return resume(id, .failure(lastFailure)) }
    let reason =
      state.leasedCount < state.size
      ? "could not connect to \(configuration.place) within \(limit)"
      : "all \(state.size) pool connections stayed in use for \(limit)"
    resume(id, .failure(PostgresError(.poolExhausted, reason)))
  }

  private func resume(_ id: UInt64, _ outcome: Result<PoolState<PostgresConnection>.Idle, PostgresError>) {
    guard let waiter = waiters.removeValue(forKey: id) else { return }
    loop.cancel(waiter.timer)
    waiter.continuation.resume(returning: outcome)
  }

  func release(_ connection: PostgresConnection) {
    let isUsable = connection.assumeIsolated { $0.isAtRest }
    settle(state.released(connection, isUsable: isUsable, at: .now), connection)
    if !isUsable { connection.assumeIsolated { $0.close() } }
  }

  /// Ends a lease without waiting for it: the next call from the same task reaches the loop later.
  nonisolated func releaseSoon(_ connection: PostgresConnection) {
    loop.execute { self.assumeIsolated { $0.release(connection) } }
  }

  private func settle(_ release: PoolState<PostgresConnection>.Release, _ connection: PostgresConnection) {
    switch release {
    case .grant(let id): resume(id, .success(.init(connection: connection, since: .now)))
    case .keep: break
    case .drop: openWhatIsNeeded()
    }
  }

  // MARK: Opening

  private func openWhatIsNeeded() {
    for _ in 0..<state.takeOpenings() {
      let next = lastFailureTime.map { $0 + state.backoff(jitter: .random(in: 0...1)) } ?? .now
      open.yield(max(next - .now, .zero))
    }
  }

  func run() async {
    await withTaskCancellationHandler {
      await withDiscardingTaskGroup { group in
        for await delay in openings {
          group.addTask { await self.openOne(after: delay) }
        }
      }
    } onCancel: {
      open.finish()
    }
    await closeAll()
  }

  private func openOne(after delay: Duration) async {
    do {
      if delay > .zero { try await Task.sleep(for: delay) }
      let connection = try await connect()
      if state.failures > 0 { logger.info("reconnected to Postgres", metadata: ["server": "\(configuration.place)"]) }
      lastFailure = nil
      lastFailureTime = nil
      hasOpened = true
      await connection.whenClosed { [weak self] error in
        self?.assumeIsolated { $0.lost(connection, error) }
      }
      let release = state.opened(connection, at: .now)
      settle(release, connection)
      if release == .drop { await connection.close() }
      // More callers may have queued while connections were tried one at a time.
      openWhatIsNeeded()
    } catch {
      state.failedToOpen()
      lastFailureTime = .now
      if let error = error as? PostgresError, error.code != .cancelled {
        lastFailure = error
        if state.failures == 1 {
          logger.warning("no connection to Postgres; retrying", metadata: ["error": "\(error)"])
        }
        // If there were connections before, one may be released, and the refusal may be temporary.
        if error.isRefusal, !hasOpened { for id in state.giveUpAll() { resume(id, .failure(error)) } }
      }
      openWhatIsNeeded()
    }
  }

  private func lost(_ connection: PostgresConnection, _ error: PostgresError) {
    state.lost(connection)
    logger.debug("a connection to Postgres ended", metadata: ["error": "\(error)"])
  }

  func connect(within limit: Duration? = nil) async throws(PostgresError) -> PostgresConnection {
    var configuration = configuration
    if let limit { configuration.connectTimeout = limit }
    return try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
  }

  private func closeAll() async {
    let (waiting, idle) = state.close()
    for id in waiting { resume(id, .failure(PostgresError(.connection, "the pool is closed"))) }
    for connection in idle { await connection.close() }
  }
}
