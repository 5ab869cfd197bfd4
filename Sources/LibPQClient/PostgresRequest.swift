import CLibPQ
import DequeModule
import Dispatch
import Locking
import Reactor

/// One caller's statements on a connection.
final class PostgresRequest: @unchecked Sendable {
  // `@unchecked Sendable`: `isCancelled` is a lock; from `start` on, every other mutable field is accessed only on the
  // connection's loop.

  enum Role {
    case statements
    /// COMMIT and ROLLBACK end a transaction, and complete even if their task is cancelled.
    case commit
    case rollback
  }

  enum Cancellation {
    case none
    /// The server was asked to cancel it, and has not confirmed its signal yet.
    case asking
    case asked
  }

  typealias Outcome = Result<[PostgresRows], PostgresError>

  let queries: [PostgresQuery]
  /// Its transaction.
  let transaction: TransactionState?
  let role: Role
  /// The request's time limit; nil for none.
  let timeout: Duration?
  /// The caller's deadline, if any.
  let deadline: Deadline?
  private let isCancelled = Locked(false)

  /// The connection's id for it, set when the connection accepts it.
  var id: UInt64 = 0
  weak var connection: PostgresConnection?
  var rows: [PostgresRows] = []
  var error: PostgresError?
  var cancellation = Cancellation.none
  var isSent = false
  var isAnswered = false
  /// Whether a prepared statement was stale, so that no part of it ran.
  var hadStalePlan = false
  var isSecondTry = false
  var timer: TimerID?
  /// Called on the loop once the outcome is known.
  var onEnd: (() -> Void)?
  private var continuation: CheckedContinuation<Outcome?, Never>?

  /// - Parameter timeout: may be shortened by the current deadline.
  init(
    _ queries: [PostgresQuery], timeout: Duration?, transaction: TransactionState? = nil, role: Role = .statements
  ) throws(PostgresError) {
    for query in queries where query.parameters.count > 65535 {
      throw PostgresError(
        .configuration, "a statement has \(query.parameters.count) parameters, and may have at most 65535: pass arrays")
    }
    self.queries = queries
    self.transaction = transaction
    self.role = role
    self.timeout = Deadline.shortened(optional: timeout)
    deadline = Deadline.current
  }

  /// Passes the request to the loop and waits for its outcome. The caller switches to the loop once and back once; an
  /// actor method would add a switch in between.
  ///
  /// - Parameter start: submits the request, on the loop.
  /// - Returns: nil if `start` returned the request unsent.
  nonisolated(nonsending) func outcome(
    on loop: EventLoop, _ start: @escaping @Sendable (PostgresRequest) -> Void
  ) async -> Outcome? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        loop.perform {
          self.continuation = continuation
          start(self)
        }
      }
    } onCancel: {
      guard role == .statements else { return }
      isCancelled.withLock { $0 = true }
      loop.execute { self.connection?.assumeIsolated { $0.cancel(self) } }
    }
  }

  /// Whether its task was cancelled before it began.
  var isRefused: Bool { isCancelled.withLock { $0 } }

  /// Resumes the caller with the outcome; later calls do nothing.
  func resume() {
    guard let continuation else { return }
    self.continuation = nil
    if role != .statements { transaction?.hasEnded = true }
    onEnd?()
    onEnd = nil
    guard let error else { return continuation.resume(returning: .success(rows)) }
    guard role == .commit, isSent, error.code == .connection || error.code == .timeout else {
      return continuation.resume(returning: .failure(error))
    }
    continuation.resume(
      returning: .failure(
        PostgresError(
          .outcomeUnknown, "whether the transaction took effect is unknown: during COMMIT \(error.message)",
          sqlState: error.sqlState)))
  }

  func fail(_ error: PostgresError) {
    if self.error == nil { self.error = error }
    resume()
  }

  /// Returns the request to its caller unsent.
  func giveBack() {
    continuation?.resume(returning: nil)
    continuation = nil
  }
}

/// Sending requests and receiving their results.
extension PostgresConnection {
  /// Sends `queries` as one request and waits for the outcome.
  nonisolated(nonsending) func submit(
    _ queries: [PostgresQuery], timeout: Duration?, transaction: TransactionState? = nil,
    role: PostgresRequest.Role = .statements
  ) async throws(PostgresError) -> [PostgresRows] {
    let request = try PostgresRequest(
      queries, timeout: timeout ?? configuration.queryTimeout, transaction: transaction, role: role)
    let outcome = await request.outcome(on: loop) { request in self.assumeIsolated { $0.start(request) } }
    return try outcome?.get() ?? []
  }

  /// Accepts a request. All obstacles to sending are checked here, with no await before it is queued.
  func start(_ request: PostgresRequest) {
    request.id = nextID()
    request.connection = self
    if request.role != .statements, let transaction = request.transaction {
      transaction.isEnding = true
      let isOver = transaction.hasEnded || closeReason != nil
      // There is nothing to end. A ROLLBACK is also unnecessary once the transaction or the connection is gone.
      if request.role == .rollback ? !transaction.hasBegun || isOver : !transaction.hasBegun && !isOver {
        return request.resume()
      }
    }
    if let refusal = refusal(of: request) { return request.fail(refusal) }
    requests[request.id] = request
    if let timeout = request.timeout {
      request.timer = loop.schedule(after: timeout) { [weak self] in self?.assumeIsolated { $0.timeOut(request) } }
    }
    backlog.append(.request(request))
    sendBacklog()
  }

  private func refusal(of request: PostgresRequest) -> PostgresError? {
    if request.isRefused { return PostgresError(.cancelled, "cancelled before the statement was sent") }
    let transaction = request.transaction
    switch request.role {
    case .statements:
      if let transaction, transaction.hasEnded || transaction.isEnding {
        return PostgresError(
          .transactionEnded, "the transaction has ended: its value belongs to the closure that it was passed to")
      }
    case .commit:
      if transaction?.hasEnded == true {
        return PostgresError(
          .transactionEnded,
          "a statement ended the transaction: return or throw from the closure instead of COMMIT or ROLLBACK")
      }
      if closeReason == nil, transaction?.hasBegun == true, request.deadline?.hasPassed == true {
        close()
        return PostgresError(.timeout, "the deadline passed before COMMIT was sent; the transaction took no effect")
      }
    case .rollback: break
    }
    return closeReason ?? refusal(request.deadline)
  }

  private func refusal(_ deadline: Deadline?) -> PostgresError? {
    guard let deadline, deadline.hasPassed else { return nil }
    return PostgresError(.timeout, "the deadline had passed; nothing was sent")
  }

  /// The reason why the current task cannot proceed. Check it where a request is queued, with no await in between:
  /// during an await, the connection may be lost or the task cancelled.
  var refusal: PostgresError? {
    if Task.isCancelled { return PostgresError(.cancelled, "cancelled before the statement was sent") }
    return closeReason ?? refusal(Deadline.current)
  }

  /// Sends the requests that may be sent now.
  func sendBacklog() {
    while exclusive == nil, !isCancelling, let first = backlog.first {
      switch first {
      case .request(let request):
        backlog.removeFirst()
        send(request)
      case .exclusive(let id, let continuation):
        guard pipeline.isIdle else { return }
        backlog.removeFirst()
        guard let libpq, libpq.exitPipeline() else { return lose() }
        exclusive = ExclusiveUse(id: id)
        continuation.resume(returning: nil)
      }
    }
  }

  private func send(_ request: PostgresRequest) {
    guard let libpq else { return }
    var steps: [Pipeline.Step] = []
    var isSent = true
    if request.transaction == nil || request.transaction?.hasBegun == false {
      for name in statements.takeDiscarded() where isSent {
        isSent = libpq.sendUnnamed(PostgresQuery(unescaped: "DEALLOCATE \(name)"))
        steps.append(.housekeeping)
      }
    }
    if let transaction = request.transaction, !transaction.hasBegun {
      // BEGIN costs no round trip: it is sent with the first statement.
      transaction.hasBegun = true
      isSent = isSent && run(transaction.begin, of: request, &steps, isHousekeeping: true)
    }
    for query in request.queries where isSent { isSent = run(query, of: request, &steps) }
    request.isSent = true
    guard isSent, libpq.sync() else { return lose() }
    pipeline.sent(request.id, steps)
    flush()
    readResults()
  }

  private func run(
    _ query: PostgresQuery, of request: PostgresRequest, _ steps: inout [Pipeline.Step], isHousekeeping: Bool = false
  ) -> Bool {
    guard let libpq else { return false }
    let key = StatementCache.Key(sql: query.sql, types: query.parameters.types)
    switch statements.use(key, by: request.id) {
    case .prepared(let name):
      steps.append(isHousekeeping ? .housekeeping : .execute(key))
      return libpq.sendPrepared(name, query.parameters)
    case .prepare(let name):
      steps.append(.prepare(key))
      steps.append(isHousekeeping ? .housekeeping : .execute(key))
      return libpq.sendPrepare(name, query) && libpq.sendPrepared(name, query.parameters)
    case .unnamed:
      steps.append(isHousekeeping ? .housekeeping : .execute(nil))
      return libpq.sendUnnamed(query)
    }
  }

  /// Processes one result of the pipeline.
  func receive(_ result: PostgresResult) {
    let reply: Pipeline.Reply =
      switch result.status {
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: .done
      case PGRES_PIPELINE_SYNC: .synced
      case PGRES_PIPELINE_ABORTED: .skipped
      default: .failed
      }
    switch pipeline.received(reply) {
    case .none: break
    case .confirm(let key): statements.confirm(key)
    case .deliver(let id): requests[id]?.rows.append(PostgresRows(result))
    case .forget(let key, let failed):
      statements.forget(key)
      if let failed { blame(failed, result) }
    case .fail(let id, let key):
      if let key, let stale = result.stalePlan {
        // A statement unknown to the server cannot be deallocated either.
        if stale == .outdated { statements.discard(key) } else { statements.forget(key) }
        requests[id]?.hadStalePlan = true
      }
      blame(id, result)
    case .finish(let id): finish(id)
    case .confused:
      tearDown(PostgresError(.connection, "the server's answers do not fit the statements; COPY needs copyIn"))
    }
  }

  private func blame(_ id: UInt64, _ result: PostgresResult) {
    guard let request = requests[id], request.error == nil else { return }
    let error = result.error
    if error.sqlState == "25006" { isReadOnly = true }
    request.error =
      error.sqlState == "57014" && request.cancellation != .none
      ? PostgresError(.cancelled, "cancelled", sqlState: error.sqlState) : error
  }

  private func finish(_ id: UInt64) {
    guard let request = requests[id] else { return }
    if let transaction = request.transaction, libpq?.transactionStatus == PQTRANS_IDLE, pipeline.isIdle {
      // The COMMIT or ROLLBACK ended the transaction, BEGIN failed, or a statement was a COMMIT. No statement may
      // follow outside of the transaction.
      transaction.hasEnded = true
    }
    if request.hadStalePlan, !request.isSecondTry, request.queries.count == 1, request.transaction == nil,
      request.cancellation == .none
    {
      // The server rejected the plan before running it, so the statement now runs for the first time.
      request.isSecondTry = true
      request.hadStalePlan = false
      request.error = nil
      request.rows = []
      backlog.prepend(.request(request))
      return sendBacklog()
    }
    request.isAnswered = true
    // A cancel request in flight could hit the next statement, so wait until it has arrived.
    if request.cancellation == .asking { return }
    complete(request)
  }

  private func complete(_ request: PostgresRequest) {
    requests[request.id] = nil
    if let timer = request.timer { loop.cancel(timer) }
    // While a statement is being cancelled, it is alone on the connection.
    if request.cancellation != .none { isCancelling = false }
    request.resume()
    sendBacklog()
  }

  // MARK: Cancellation and time-outs

  func cancel(_ request: PostgresRequest) {
    let id = request.id
    guard requests[id] === request, request.cancellation == .none, !request.isAnswered else { return }
    let error = PostgresError(.cancelled, "cancelled")
    if takeFromBacklog(request) {
      request.error = error
      return complete(request)
    }
    guard pipeline.count == 1, libpq != nil else { return request.fail(error) }
    isCancelling = true
    if let timer = request.timer { loop.cancel(timer) }
    let patience = min(configuration.cancelTimeout, request.deadline?.remaining ?? configuration.cancelTimeout)
    request.timer = loop.schedule(after: patience) { [weak self] in
      self?.assumeIsolated { connection in
        connection.requests[id]?.error = error
        connection.tearDown(PostgresError(.connection, "a cancelled statement did not end in time"))
      }
    }
    askToCancel(id)
  }

  private func askToCancel(_ id: UInt64) {
    guard let request = requests[id], !request.isAnswered, let canceller = libpq?.canceller() else { return }
    request.cancellation = .asking
    runOffTheLoop(canceller) { $0.cancelArrived(id) }
  }

  private func cancelArrived(_ id: UInt64) {
    guard let request = requests[id] else { return }
    request.cancellation = .asked
    if request.isAnswered { return complete(request) }
    // The server ignores a cancel request that arrives before the statement has started: ask again.
    loop.schedule(after: .milliseconds(20)) { [weak self] in self?.assumeIsolated { $0.askToCancel(id) } }
  }

  /// Removes `request` from the backlog; false if it was already sent.
  private func takeFromBacklog(_ request: PostgresRequest) -> Bool {
    let place = backlog.firstIndex {
      if case .request(let waiting) = $0 { waiting === request } else { false }
    }
    if let place { backlog.remove(at: place) }
    return place != nil
  }

  /// Runs the canceller, which blocks, on another thread; then `body` on the loop.
  func runOffTheLoop(_ canceller: LibPQCanceller, _ body: @escaping @Sendable (isolated PostgresConnection) -> Void) {
    let loop = self.loop
    cancelQueue.async { [weak self] in
      canceller.cancel()
      loop.execute { [weak self] in self?.assumeIsolated { body($0) } }
    }
  }

  private func timeOut(_ request: PostgresRequest) {
    guard requests[request.id] === request else { return }
    request.timer = nil
    if takeFromBacklog(request) {
      request.error = PostgresError(.timeout, "the connection was busy for too long; nothing was sent")
      return complete(request)
    }
    request.fail(PostgresError(.timeout, "no answer in time; the connection was closed"))
    // The connection's next reply would be ambiguous, so it is closed. The server is asked to stop working on it,
    // except after a deadline: the cancel request would wait for the same server, which notices the closed connection
    // by itself.
    if request.deadline?.hasPassed != true, let canceller = libpq?.canceller() { runOffTheLoop(canceller) { _ in } }
    tearDown(PostgresError(.connection, "the connection was closed because a statement on it timed out"))
  }
}

/// Threads that may block while they send a cancel request.
private let cancelQueue = DispatchQueue(label: "postgres-cancel", attributes: .concurrent)
