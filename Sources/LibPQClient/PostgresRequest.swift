import CLibPQ
import DequeModule
import Dispatch
import Reactor

/// One caller's statements on their way through a connection. Confined to the connection's loop.
final class PostgresRequest {
  enum Cancellation {
    case none
    /// The server was asked to end it and has not confirmed yet that it signalled.
    case asking
    case asked
  }

  let id: UInt64
  let queries: [PostgresQuery]
  /// The transaction that it belongs to.
  let transaction: TransactionState?
  /// A COMMIT or a ROLLBACK is brought to its end even if its task is cancelled.
  let isCancellable: Bool

  var rows: [PostgresRows] = []
  var error: PostgresError?
  var cancellation = Cancellation.none
  var isAnswered = false
  /// A prepared statement had to be thrown out; nothing of it ran.
  var hadStalePlan = false
  var isSecondTry = false
  var timer: TimerID?
  /// The caller's, if it has one.
  var deadline: Deadline?
  private var continuation: CheckedContinuation<Result<[PostgresRows], PostgresError>, Never>?

  init(
    id: UInt64, queries: [PostgresQuery], transaction: TransactionState?, isCancellable: Bool,
    _ continuation: CheckedContinuation<Result<[PostgresRows], PostgresError>, Never>
  ) {
    self.id = id
    self.queries = queries
    self.transaction = transaction
    self.isCancellable = isCancellable
    self.continuation = continuation
  }

  /// Gives the caller its answer; a second one is dropped.
  func resume() {
    guard let continuation else { return }
    self.continuation = nil
    if let error {
      continuation.resume(returning: .failure(error))
    } else {
      continuation.resume(returning: .success(rows))
    }
  }

  func fail(_ error: PostgresError) {
    if self.error == nil { self.error = error }
    resume()
  }
}

/// How requests go out and come back.
extension PostgresConnection {
  /// Sends `queries` as one request and waits for its answer.
  func submit(
    _ queries: [PostgresQuery], timeout: Duration?, transaction: TransactionState? = nil, isCancellable: Bool = true
  ) async throws(PostgresError) -> [PostgresRows] {
    for query in queries where query.parameters.count > 65535 {
      throw PostgresError(
        .configuration, "a statement has \(query.parameters.count) parameters; 65535 is the most: pass arrays")
    }
    let id = nextID()
    // No handler is needed where a cancellation is not to be heard.
    let outcome: Result<[PostgresRows], PostgresError>
    if isCancellable {
      outcome = await withTaskCancellationHandler {
        await start(id, queries, timeout, transaction, isCancellable: true)
      } onCancel: {
        loop.execute { [weak self] in self?.assumeIsolated { $0.cancel(id) } }
      }
    } else {
      outcome = await start(id, queries, timeout, transaction, isCancellable: false)
    }
    return try outcome.get()
  }

  private func start(
    _ id: UInt64, _ queries: [PostgresQuery], _ timeout: Duration?, _ transaction: TransactionState?,
    isCancellable: Bool
  ) async -> Result<[PostgresRows], PostgresError> {
    await withCheckedContinuation { continuation in
      if let refusal = refusal(transaction, isCancellable: isCancellable) {
        return continuation.resume(returning: .failure(refusal))
      }
      let request = PostgresRequest(
        id: id, queries: queries, transaction: transaction, isCancellable: isCancellable, continuation)
      requests[id] = request
      request.deadline = Deadline.current
      if let timeout = Deadline.shortened(optional: timeout ?? configuration.queryTimeout) {
        request.timer = loop.schedule(after: timeout) { [weak self] in self?.assumeIsolated { $0.timeOut(id) } }
      }
      backlog.append(.request(request))
      sendBacklog()
    }
  }

  /// Why a request of the current task goes no further. To be asked where the request is queued, with no await between:
  /// in any of them the connection may go, or the task be cancelled.
  func refusal(_ transaction: TransactionState? = nil, isCancellable: Bool) -> PostgresError? {
    if isCancellable, Task.isCancelled {
      return PostgresError(.cancelled, "cancelled before the statement was sent")
    }
    if let closeReason { return closeReason }
    if let deadline = Deadline.current, deadline.hasPassed {
      return PostgresError(.timeout, "the deadline had passed; nothing was sent")
    }
    if let transaction, transaction.hasEnded || (isCancellable && transaction.isEnding) {
      return PostgresError(
        .transactionEnded, "the transaction has ended: its value belongs to the closure that it was passed to")
    }
    return nil
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

  private func cancel(_ id: UInt64) {
    guard let request = requests[id], request.cancellation == .none, !request.isAnswered else { return }
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

  private func timeOut(_ id: UInt64) {
    guard let request = requests[id] else { return }
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
