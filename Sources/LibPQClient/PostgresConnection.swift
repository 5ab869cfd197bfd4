import CLibPQ
import DequeModule
import Logging
import Reactor

/// A server session on an event loop. Concurrent calls queue in libpq's pipeline and complete in order; each call is a
/// separate transaction unless it is made through `transaction`.
///
/// A cancelled call asks the server to stop its statement, and throws once the server has. If other tasks' calls are in
/// flight behind it, it throws immediately and its statement keeps running, because the server could cancel the wrong
/// one.
public actor PostgresConnection {
  public nonisolated let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  public nonisolated let configuration: PostgresConfiguration
  let logger: Logger

  /// nil before connecting and after the connection was lost or closed.
  var libpq: LibPQ?
  private var registered: Int32?
  var pipeline = Pipeline()
  var statements: StatementCache
  var requests: [UInt64: PostgresRequest] = [:]
  var backlog: Deque<Waiting> = []
  /// Whether a cancellation keeps the backlog from being sent.
  var isCancelling = false
  var exclusive: ExclusiveUse?
  private var lastID: UInt64 = 0
  private var connecting: Connecting?
  private(set) var closeReason: PostgresError?
  /// Whether the server refused a write: it is a standby, and another server may be the primary by now.
  var isReadOnly = false
  private var onClose: (@Sendable (PostgresError) -> Void)?
  var listeners: [UInt64: Listener] = [:]

  /// A waiter: a request, or a caller who needs the connection exclusively, outside of pipeline mode.
  enum Waiting {
    case request(PostgresRequest)
    case exclusive(UInt64, CheckedContinuation<PostgresError?, Never>)
  }

  private struct Connecting {
    var continuation: CheckedContinuation<PostgresError?, Never>
    var timer: TimerID
  }

  struct Listener {
    let channels: Set<String>
    let continuation: AsyncStream<PostgresNotification>.Continuation
  }

  init(configuration: PostgresConfiguration, loop: EventLoop, logger: Logger) {
    self.configuration = configuration
    self.loop = loop
    self.logger = logger
    statements = StatementCache(capacity: configuration.preparedStatements)
  }

  isolated deinit { tearDown(PostgresError(.connection, "the connection was dropped")) }

  func nextID() -> UInt64 {
    lastID += 1
    return lastID
  }

  /// Connects to the first server, and to the first of its addresses, that accepts the connection and has the
  /// configured role.
  ///
  /// - Throws: `.connection`, `.timeout` or `.cancelled`.
  public static func connect(
    _ configuration: PostgresConfiguration, loop: EventLoop, logger: Logger
  ) async throws(PostgresError) -> PostgresConnection {
    try await PostgresConnector(configuration: configuration, loop: loop, logger: logger).connect()
  }

  // MARK: Statements

  /// Runs a statement and returns its rows.
  ///
  /// - Parameter timeout: the limit for this call; nil for the configuration's `queryTimeout`.
  /// - Throws: `.server` with the SQLSTATE, `.connection`, `.timeout`, `.cancelled`.
  public nonisolated(nonsending) func query(
    _ query: PostgresQuery, timeout: Duration? = nil
  ) async throws(PostgresError) -> PostgresRows {
    try await submit([query], timeout: timeout).only
  }

  /// Runs a statement and returns the number of rows affected.
  @discardableResult
  public nonisolated(nonsending) func execute(
    _ query: PostgresQuery, timeout: Duration? = nil
  ) async throws(PostgresError) -> Int {
    try await submit([query], timeout: timeout).only.affected
  }

  /// Runs statements in one round trip and one transaction: either all of them take effect, or none.
  ///
  /// - Returns: each statement's rows.
  @discardableResult
  public nonisolated(nonsending) func pipeline(
    _ queries: [PostgresQuery], timeout: Duration? = nil
  ) async throws(PostgresError) -> [PostgresRows] {
    queries.isEmpty ? [] : try await submit(queries, timeout: timeout)
  }

  // MARK: Lifecycle

  /// Whether the connection is gone.
  public var isClosed: Bool { libpq == nil }

  /// The process id of the server's session.
  public var processID: Int32 { libpq?.processID ?? 0 }

  /// The server's version, such as 150013 for 15.13.
  public var serverVersion: Int { libpq?.serverVersion ?? 0 }

  /// Closes the session. Running statements fail with `.connection`; the server rolls back uncommitted work.
  public func close() { tearDown(PostgresError(.connection, "the connection was closed")) }

  /// Calls `body` once when the connection is lost or closed; immediately if it already is.
  func whenClosed(_ body: @escaping @Sendable (PostgresError) -> Void) {
    if let closeReason { return body(closeReason) }
    onClose = body
  }

  /// Whether no statement is running and no transaction is open, so that another caller may use it. A connection found
  /// to be on the wrong server is never at rest.
  var isAtRest: Bool {
    guard let libpq, !isReadOnly, pipeline.isIdle, backlog.isEmpty, exclusive == nil, !isCancelling else {
      return false
    }
    return libpq.transactionStatus == PQTRANS_IDLE
  }

  /// Whether the server has sent input that is still unread, such as its shutdown notice.
  var hasUnreadInput: Bool { libpq?.hasUnreadInput ?? true }

  /// Connects to one of the server's addresses.
  func connect(address: String?, timeout: Duration) async -> PostgresError? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled {
          return continuation.resume(returning: PostgresError(.cancelled, "cancelled before connecting"))
        }
        guard let libpq = LibPQ(configuration.keywords(address: address)), !libpq.hasFailed else {
          return continuation.resume(
            returning: PostgresError(.connection, "cannot start a connection to \(configuration.place)"))
        }
        let timer = loop.schedule(after: timeout) { [weak self] in
          self?.assumeIsolated {
            $0.endConnecting(PostgresError(.timeout, "no connection to \($0.configuration.place) in time"))
          }
        }
        connecting = Connecting(continuation: continuation, timer: timer)
        self.libpq = libpq
        watch(libpq.descriptor, for: .write)
      }
    } onCancel: {
      loop.execute { [weak self] in
        self?.assumeIsolated { $0.endConnecting(PostgresError(.cancelled, "cancelled while connecting")) }
      }
    }
  }

  private func goOnConnecting() {
    guard let libpq else { return }
    // libpq may close its socket and open another, possibly with the same descriptor.
    unwatch()
    switch libpq.poll() {
    case PGRES_POLLING_READING: watch(libpq.descriptor, for: .read)
    case PGRES_POLLING_WRITING: watch(libpq.descriptor, for: .write)
    case PGRES_POLLING_OK:
      guard libpq.prepare() else { return endConnecting(PostgresError(.connection, libpq.failure)) }
      watch(libpq.descriptor, for: .read)
      endConnecting(nil)
    default: endConnecting(libpq.refusal)
    }
  }

  private func endConnecting(_ error: PostgresError?) {
    guard let connecting else { return }
    self.connecting = nil
    loop.cancel(connecting.timer)
    if error != nil {
      unwatch()
      libpq = nil
    }
    connecting.continuation.resume(returning: error)
  }

  // MARK: Readiness

  private func watch(_ descriptor: Int32, for interest: EventLoop.Readiness) {
    registered = descriptor
    loop.register(descriptor, interest: interest) { [weak self] readiness in
      self?.assumeIsolated { $0.ready(readiness) }
    }
  }

  private func unwatch() {
    if let registered { loop.deregister(registered) }
    registered = nil
  }

  private func ready(_ readiness: EventLoop.Readiness) {
    if connecting != nil { return goOnConnecting() }
    guard let libpq else { return }
    if readiness.contains(.read) {
      let alive = libpq.consumeInput()
      readResults()
      readNotifications()
      if !alive || libpq.hasFailed { return lose() }
    }
    flush()
  }

  /// Writes the pending output; the remainder follows when the socket is writable.
  func flush() {
    guard let libpq, let registered else { return }
    switch libpq.flush() {
    case 0:
      loop.setInterest(.read, for: registered)
      exclusive?.flushed()
    case 1:
      loop.setInterest([.read, .write], for: registered)
    default:
      // The server's last message may still be readable.
      _ = libpq.consumeInput()
      readResults()
      lose()
    }
  }

  /// Processes the available results. Also called after every write: when a socket is full, libpq reads in the
  /// meantime, and that input no longer makes the descriptor readable.
  func readResults() {
    guard let libpq else { return }
    if exclusive != nil { return readExclusiveResults() }
    while !pipeline.isIdle, !libpq.isBusy {
      // nil only separates the results of one statement from those of the next.
      if let result = libpq.nextResult() { receive(result) } else if libpq.hasFailed { return }
    }
  }

  /// The server or the network has ended the connection.
  func lose() {
    guard let libpq else { return }
    tearDown(PostgresError(.connection, "the connection to \(configuration.place) was lost: \(libpq.failure)"))
  }

  /// Fails everything on this connection with `error`, and ends the session.
  func tearDown(_ error: PostgresError) {
    guard closeReason == nil, libpq != nil else { return }
    closeReason = error
    unwatch()
    libpq = nil
    for request in requests.values {
      if let timer = request.timer { loop.cancel(timer) }
      request.fail(error)
    }
    requests = [:]
    pipeline = Pipeline()
    for case .exclusive(_, let continuation) in backlog { continuation.resume(returning: error) }
    backlog = []
    exclusive?.fail(error)
    for listener in listeners.values { listener.continuation.finish() }
    listeners = [:]
    onClose?(error)
    onClose = nil
  }
}
