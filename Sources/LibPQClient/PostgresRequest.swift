import CLibPQ
import DequeModule
import Dispatch
import Locking
import Reactor

/// One caller's statements on their way through a connection.
final class PostgresRequest: @unchecked Sendable {
  // `@unchecked Sendable`: `isCancelled` is a lock; every other mutable field is read and written on the connection's
  // loop only, from `start` on.

  enum Role {
    case statements
    /// COMMIT and ROLLBACK end a transaction, and are brought to their end even if their task is cancelled.
    case commit
    case rollback
  }

  enum Cancellation {
    case none
    /// The server was asked to end it and has not confirmed yet that it signalled.
    case asking
    case asked
  }

  typealias Outcome = Result<[PostgresRows], PostgresError>

  let queries: [PostgresQuery]
  /// The transaction that it belongs to.
  let transaction: TransactionState?
  let role: Role
  /// How long it may take; nil for as long as it takes.
  let timeout: Duration?
  /// The caller's, if it has one.
  let deadline: Deadline?
  private let isCancelled = Locked(false)

  /// The connection's number for it; set when the connection takes it.
  var id: UInt64 = 0
  weak var connection: PostgresConnection?
  var rows: [PostgresRows] = []
  var error: PostgresError?
  var cancellation = Cancellation.none
  var isSent = false
  var isAnswered = false
  /// A prepared statement had to be thrown out; nothing of it ran.
  var hadStalePlan = false
  var isSecondTry = false
  var timer: TimerID?
  /// Is called on the loop once it has its outcome.
  var onEnd: (() -> Void)?
  private var continuation: CheckedContinuation<Outcome?, Never>?

  /// - Parameter timeout: may be shortened by the current deadline.
  init(
    _ queries: [PostgresQuery], timeout: Duration?, transaction: TransactionState? = nil, role: Role = .statements
  ) throws(PostgresError) {
    for query in queries where query.parameters.count > 65535 {
      throw PostgresError(
        .configuration, "a statement has \(query.parameters.count) parameters; 65535 is the most: pass arrays")
    }
    self.queries = queries
    self.transaction = transaction
    self.role = role
    self.timeout = Deadline.shortened(optional: timeout)
    deadline = Deadline.current
  }

  /// Hands the request to the loop and waits for its outcome. The caller goes there once and comes back once; a method
  /// of the connection's actor would bring it back to the loop in between.
  ///
  /// - Parameter start: passes it on, on the loop.
  /// - Returns: nil if `start` gave the request back.
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

  /// Gives the caller its answer; a second one is dropped.
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

/// How requests go out and come back.
extension PostgresConnection {
  /// Sends `queries` as one request and waits for its answer.
  nonisolated(nonsending) func submit(
    _ queries: [PostgresQuery], timeout: Duration?, transaction: TransactionState? = nil,
    role: PostgresRequest.Role = .statements
  ) async throws(PostgresError) -> [PostgresRows] {
    let request = try PostgresRequest(
      queries, timeout: timeout ?? configuration.queryTimeout, transaction: transaction, role: role)
    let outcome = await request.outcome(on: loop) { request in self.assumeIsolated { $0.start(request) } }
    return try outcome?.get() ?? []
  }

  /// Takes a request. What keeps it from being sent is asked here, with no await before it is queued.
  func start(_ request: PostgresRequest) {
    request.id = nextID()
    request.connection = self
    if request.role != .statements, let transaction = request.transaction {
      transaction.isEnding = true
      let isOver = transaction.hasEnded || closeReason != nil
      // Nothing is there to end. A ROLLBACK is not needed where the transaction or the connection is gone, either.
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
          .transactionEnded, "a statement ended the transaction: COMMIT and ROLLBACK are the closure's end")
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

  /// Why the current task gets no further. To be asked where something is queued, with no await between: in any of them
  /// the connection may go, or the task be cancelled.
  var refusal: PostgresError? {
    if Task.isCancelled { return PostgresError(.cancelled, "cancelled before the statement was sent") }
    return closeReason ?? refusal(Deadline.current)
  }

  /// Sends what may be sent now.
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
      // BEGIN costs no round trip: it travels with the first statement.
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

  /// Takes one result of the pipeline.
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
        // What the server does not have it cannot drop either.
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
      // Its COMMIT or ROLLBACK ended it, BEGIN failed, or a statement was a COMMIT: no statement may follow outside of
      // the transaction.
      transaction.hasEnded = true
    }
    if request.hadStalePlan, !request.isSecondTry, request.queries.count == 1, request.transaction == nil,
      request.cancellation == .none
    {
      // The server refused the plan before it ran anything, so this is the first time that the statement runs.
      request.isSecondTry = true
      request.hadStalePlan = false
      request.error = nil
      request.rows = []
      backlog.prepend(.request(request))
      return sendBacklog()
    }
    request.isAnswered = true
    // A cancel request that is still on its way could hit the next statement: it must have arrived first.
    if request.cancellation == .asking { return }
    complete(request)
  }

  private func complete(_ request: PostgresRequest) {
    requests[request.id] = nil
    if let timer = request.timer { loop.cancel(timer) }
    // While a statement is being cancelled it is alone on the connection.
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
    // A request that arrived before the server had begun the statement is forgotten there: ask again.
    loop.schedule(after: .milliseconds(20)) { [weak self] in self?.assumeIsolated { $0.askToCancel(id) } }
  }

  /// Removes `request` from what waits to be sent; false if it was sent.
  private func takeFromBacklog(_ request: PostgresRequest) -> Bool {
    let place = backlog.firstIndex {
      if case .request(let waiting) = $0 { waiting === request } else { false }
    }
    if let place { backlog.remove(at: place) }
    return place != nil
  }

  /// Runs the canceller, which blocks, elsewhere; then `body` on the loop.
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
    // What the connection would say next is not known, so it goes. The server is asked to stop working for it, but not
    // after a deadline: the request to cancel would wait for the same server, which notices by itself that the
    // connection is gone.
    if request.deadline?.hasPassed != true, let canceller = libpq?.canceller() { runOffTheLoop(canceller) { _ in } }
    tearDown(PostgresError(.connection, "the connection was closed since a statement on it timed out"))
  }
}

/// Threads that may block while they tell a server to cancel something.
private let cancelQueue = DispatchQueue(label: "postgres-cancel", attributes: .concurrent)
