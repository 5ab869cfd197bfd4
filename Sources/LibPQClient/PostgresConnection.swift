import CLibPQ
import DequeModule
import Logging
import Reactor

/// One session of a server, on an event loop. Calls from several tasks at once queue in libpq's pipeline and are
/// answered in order; each call is a transaction of its own unless it is made through `transaction`.
///
/// A call that is cancelled asks the server to end its statement and throws when the server has. Where calls of other
/// tasks are under way behind it, it throws at once and its statement runs on, since the server could hit the wrong
/// one.
public actor PostgresConnection {
  public nonisolated let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  public nonisolated let configuration: PostgresConfiguration
  let logger: Logger

  /// nil before the connection stands and after it was lost or closed.
  var libpq: LibPQ?
  private var registered: Int32?
  var pipeline = Pipeline()
  var statements: StatementCache
  var requests: [UInt64: PostgresRequest] = [:]
  var backlog: Deque<Waiting> = []
  /// What keeps the backlog from being sent.
  var isCancelling = false
  var exclusive: ExclusiveUse?
  private var lastID: UInt64 = 0
  private var connecting: Connecting?
  private(set) var closeReason: PostgresError?
  /// Whether the server refused to write: it is a standby, and another one may be the primary by now.
  var isReadOnly = false
  private var onClose: (@Sendable (PostgresError) -> Void)?
  var listeners: [UInt64: Listener] = [:]

  /// What waits for its turn: a request, or somebody who needs the connection alone and out of pipeline mode.
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

  /// Connects to the first server, and the first of its addresses, that takes the connection and is what the
  /// configuration asks for.
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
  /// - Parameter timeout: instead of the configuration's `queryTimeout`.
  /// - Throws: `.server` with the SQLSTATE, `.connection`, `.timeout`, `.cancelled`.
  public nonisolated(nonsending) func query(
    _ query: PostgresQuery, timeout: Duration? = nil
  ) async throws(PostgresError) -> PostgresRows {
    try await submit([query], timeout: timeout).only
  }

  /// Runs a statement and returns how many rows it touched.
  @discardableResult
  public nonisolated(nonsending) func execute(
    _ query: PostgresQuery, timeout: Duration? = nil
  ) async throws(PostgresError) -> Int {
    try await submit([query], timeout: timeout).only.affected
  }

  /// Runs statements in one round trip and one transaction: all of them take effect or none.
  ///
  /// - Returns: each statement's rows.
  @discardableResult
  public nonisolated(nonsending) func pipeline(
    _ queries: [PostgresQuery], timeout: Duration? = nil
  ) async throws(PostgresError) -> [PostgresRows] {
    queries.isEmpty ? [] : try await submit(queries, timeout: timeout)
  }

  // MARK: Life

  /// Whether the connection is gone.
  public var isClosed: Bool { libpq == nil }

  /// The server's process for this session.
  public var processID: Int32 { libpq?.processID ?? 0 }

  /// The server's version, such as 150013 for 15.13.
  public var serverVersion: Int { libpq?.serverVersion ?? 0 }

  /// Closes the session. Statements under way fail with `.connection`; the server rolls back what was not committed.
  public func close() { tearDown(PostgresError(.connection, "the connection was closed")) }

  /// Calls `body` once, when the connection is gone; at once if it is already.
  func whenClosed(_ body: @escaping @Sendable (PostgresError) -> Void) {
    if let closeReason { return body(closeReason) }
    onClose = body
  }

  /// Whether nothing is under way and no transaction is open, so that somebody else may have it; one that was found to
  /// be with the wrong server is for nobody.
  var isAtRest: Bool {
    guard let libpq, !isReadOnly, pipeline.isIdle, backlog.isEmpty, exclusive == nil, !isCancelling else {
      return false
    }
    return libpq.transactionStatus == PQTRANS_IDLE
  }

  /// Whether the server has sent something that is not read yet, such as its farewell.
  var hasUnreadInput: Bool { libpq?.hasUnreadInput ?? true }

  /// Connects to one address of the server.
  func connect(address: String?, timeout: Duration) async -> PostgresError? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled {
          return continuation.resume(returning: PostgresError(.cancelled, "cancelled before connecting"))
        }
        guard let libpq = LibPQ(configuration.keywords(address: address)), !libpq.hasFailed else {
          return continuation.resume(
            returning: PostgresError(.connection, "no connection to \(configuration.place) can be begun"))
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
    // libpq may close its socket and open another, of the same number even.
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

  /// Writes what is gathered; what the socket does not take follows when it is writable.
  func flush() {
    guard let libpq, let registered else { return }
    switch libpq.flush() {
    case 0:
      loop.setInterest(.read, for: registered)
      exclusive?.flushed()
    case 1:
      loop.setInterest([.read, .write], for: registered)
    default:
      // What the server said before it left may still be there to read.
      _ = libpq.consumeInput()
      readResults()
      lose()
    }
  }

  /// Takes the results that are there. Called after every write too: where a socket is full libpq reads meanwhile, and
  /// what it has read makes no descriptor readable any more.
  func readResults() {
    guard let libpq else { return }
    if exclusive != nil { return readExclusiveResults() }
    while !pipeline.isIdle, !libpq.isBusy {
      // nil only separates what one statement returned from what the next did.
      if let result = libpq.nextResult() { receive(result) } else if libpq.hasFailed { return }
    }
  }

  /// The connection is gone, by the server's or the network's doing.
  func lose() {
    guard let libpq else { return }
    tearDown(PostgresError(.connection, "the connection to \(configuration.place) was lost: \(libpq.failure)"))
  }

  /// Ends everything on this connection with `error`, and the session.
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
