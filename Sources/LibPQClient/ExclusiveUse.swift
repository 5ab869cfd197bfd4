import CLibPQ
import DequeModule
import Reactor

/// A caller's use of a connection outside of pipeline mode: a COPY or a script. Confined to the connection's loop.
final class ExclusiveUse {
  let id: UInt64
  /// The server's latest result, and the first error among its results.
  private(set) var last: PostgresResult?
  private(set) var error: PostgresError?
  private(set) var isAwaitingReply = false
  /// Whether the connection is gone, so that no more results arrive.
  private var hasFailed = false
  var isCancelling = false
  private var reply: CheckedContinuation<PostgresError?, Never>?
  private var flush: CheckedContinuation<PostgresError?, Never>?

  init(id: UInt64) { self.id = id }

  func awaitReply(_ continuation: CheckedContinuation<PostgresError?, Never>) {
    if hasFailed { return continuation.resume(returning: error) }
    isAwaitingReply = true
    reply = continuation
  }

  func awaitFlush(_ continuation: CheckedContinuation<PostgresError?, Never>) {
    if hasFailed { return continuation.resume(returning: error) }
    flush = continuation
  }

  func received(_ result: PostgresResult, failed: Bool) {
    if failed { error = error ?? result.error } else { last = result }
  }

  /// The server has completed the command.
  func replied() {
    isAwaitingReply = false
    // A cancel request's signal may still be in transit: no other caller may have the connection until it has arrived.
    guard !isCancelling else { return }
    reply?.resume(returning: error)
    reply = nil
  }

  func cancelArrived() {
    isCancelling = false
    if !isAwaitingReply { replied() }
  }

  /// All output is written.
  func flushed() {
    flush?.resume(returning: nil)
    flush = nil
  }

  func fail(_ error: PostgresError) {
    hasFailed = true
    self.error = self.error ?? error
    isAwaitingReply = false
    flush?.resume(returning: error)
    flush = nil
    reply?.resume(returning: self.error)
    reply = nil
  }
}

/// Commands that libpq does not support in pipeline mode. Requests that arrive meanwhile wait.
extension PostgresConnection {
  /// Waits for exclusive use of the connection, by `transaction` or by the caller, and leaves pipeline mode.
  func enterExclusive(_ transaction: TransactionState?) async throws(PostgresError) {
    if let transaction {
      if !transaction.hasBegun || transaction.hasEnded || transaction.isEnding {
        _ = try await submit([], timeout: nil, transaction: transaction)
      }
    }
    let id = nextID()
    let error: PostgresError? = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if let refusal { return continuation.resume(returning: refusal) }
        backlog.append(.exclusive(id, continuation))
        sendBacklog()
      }
    } onCancel: {
      loop.execute { [weak self] in self?.assumeIsolated { $0.cancelEntry(id) } }
    }
    if let error { throw error }
  }

  private func cancelEntry(_ id: UInt64) {
    let place = backlog.firstIndex { if case .exclusive(id, _) = $0 { true } else { false } }
    guard let place, case .exclusive(_, let continuation) = backlog.remove(at: place) else { return }
    continuation.resume(returning: PostgresError(.cancelled, "cancelled before the statement was sent"))
    sendBacklog()
  }

  /// Returns to pipeline mode and resumes waiting requests.
  func leaveExclusive() {
    guard exclusive != nil else { return }
    exclusive = nil
    guard let libpq, libpq.enterPipeline() else { return lose() }
    sendBacklog()
  }

  func readExclusiveResults() {
    guard let exclusive, exclusive.isAwaitingReply, let libpq else { return }
    while !libpq.isBusy {
      guard let result = libpq.nextResult() else { return exclusive.replied() }
      switch result.status {
      case PGRES_COPY_IN:
        exclusive.received(result, failed: false)
        return exclusive.replied()
      case PGRES_COPY_OUT, PGRES_COPY_BOTH:
        return tearDown(PostgresError(.configuration, "COPY … TO STDOUT is not supported"))
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: exclusive.received(result, failed: false)
      default: exclusive.received(result, failed: true)
      }
    }
  }

  /// Waits for the server's result.
  func awaitReply(timeout: Duration?, isCancellable: Bool = true) async throws(PostgresError) -> PostgresResult? {
    guard let exclusive else { throw closeReason ?? PostgresError(.connection, "the connection was closed") }
    let id = exclusive.id
    let timer = limitExclusive(id, timeout)
    let error = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        exclusive.awaitReply(continuation)
        flush()
        readResults()
        if isCancellable, Task.isCancelled { cancelExclusive(id) }
      }
    } onCancel: {
      if isCancellable { loop.execute { [weak self] in self?.assumeIsolated { $0.cancelExclusive(id) } } }
    }
    if let timer { loop.cancel(timer) }
    if let error {
      if error.sqlState == "57014", Task.isCancelled { throw PostgresError(.cancelled, "cancelled", sqlState: "57014") }
      throw error
    }
    return exclusive.last
  }

  private func cancelExclusive(_ id: UInt64) {
    guard exclusive?.id == id, exclusive?.isAwaitingReply == true else { return }
    askToCancelExclusive(id)
    loop.schedule(after: configuration.cancelTimeout) { [weak self] in
      self?.assumeIsolated { connection in
        guard let exclusive = connection.exclusive, exclusive.id == id else { return }
        exclusive.fail(PostgresError(.cancelled, "cancelled"))
        connection.tearDown(PostgresError(.connection, "a cancelled statement did not end in time"))
      }
    }
  }

  private func askToCancelExclusive(_ id: UInt64) {
    guard let exclusive, exclusive.id == id, exclusive.isAwaitingReply, !exclusive.isCancelling,
      let canceller = libpq?.canceller()
    else { return }
    exclusive.isCancelling = true
    runOffTheLoop(canceller) { connection in
      guard connection.exclusive?.id == id else { return }
      connection.exclusive?.cancelArrived()
      connection.loop.schedule(after: .milliseconds(20)) { [weak connection] in
        connection?.assumeIsolated { $0.askToCancelExclusive(id) }
      }
    }
  }

  private func limitExclusive(_ id: UInt64, _ timeout: Duration?) -> TimerID? {
    guard let timeout = Deadline.shortened(optional: timeout ?? configuration.queryTimeout) else { return nil }
    return loop.schedule(after: timeout) { [weak self] in self?.assumeIsolated { $0.timeOutExclusive(id) } }
  }

  private func timeOutExclusive(_ id: UInt64) {
    guard let exclusive, exclusive.id == id else { return }
    exclusive.fail(PostgresError(.timeout, "no answer in time; the connection was closed"))
    if let canceller = libpq?.canceller() { runOffTheLoop(canceller) { _ in } }
    tearDown(PostgresError(.connection, "the connection was closed because a statement on it timed out"))
  }

  /// Waits until the socket has taken all output: the backpressure of a COPY.
  private func awaitFlush(timeout: Duration?) async throws(PostgresError) {
    guard let exclusive else { throw closeReason ?? PostgresError(.connection, "the connection was closed") }
    let timer = limitExclusive(exclusive.id, timeout)
    let error = await withCheckedContinuation { continuation in
      exclusive.awaitFlush(continuation)
      flush()
    }
    if let timer { loop.cancel(timer) }
    if let error { throw error }
  }

  // MARK: Scripts

  /// Runs SQL text with one or more statements, without parameters or rows, for migrations. Outside of a transaction,
  /// all of it is one transaction unless the text says otherwise.
  public func executeScript(_ sql: String, timeout: Duration? = nil) async throws(PostgresError) {
    try await runScript(sql, timeout, nil)
  }

  func runScript(_ sql: String, _ timeout: Duration?, _ transaction: TransactionState?) async throws(PostgresError) {
    try await enterExclusive(transaction)
    defer { leaveExclusive() }
    guard let libpq, libpq.sendScript(sql) else {
      throw PostgresError(.connection, self.libpq?.failure ?? "the connection was closed")
    }
    let last = try await awaitReply(timeout: timeout)
    if last?.status == PGRES_COPY_IN {
      tearDown(PostgresError(.configuration, "a script cannot COPY FROM STDIN: use copyIn"))
      throw PostgresError(.configuration, "a script cannot COPY FROM STDIN: use copyIn")
    }
  }

  // MARK: COPY

  func beginCopy(_ sql: String, _ transaction: TransactionState?) async throws(PostgresError) {
    try await enterExclusive(transaction)
    do throws(PostgresError) {
      guard let libpq, libpq.sendScript(sql) else {
        throw PostgresError(.connection, self.libpq?.failure ?? "the connection was closed")
      }
      guard try await awaitReply(timeout: nil)?.status == PGRES_COPY_IN else {
        throw PostgresError(.configuration, "no COPY … FROM STDIN")
      }
    } catch {
      leaveExclusive()
      throw error
    }
  }

  /// Sends a piece of the data and returns once the socket has taken it.
  func sendCopy(_ bytes: [UInt8], timeout: Duration?) async throws(PostgresError) {
    if Task.isCancelled { throw PostgresError(.cancelled, "cancelled during COPY") }
    while true {
      guard let libpq else { throw closeReason ?? PostgresError(.connection, "the connection was closed") }
      switch libpq.putCopyData(bytes) {
      case 1: return try await awaitFlush(timeout: timeout)
      case 0: try await awaitFlush(timeout: timeout)
      default:
        lose()
        throw closeReason ?? PostgresError(.connection, "the connection was lost")
      }
    }
  }

  /// Ends the COPY; with a `reason`, the server discards the rows.
  ///
  /// - Returns: the number of rows written.
  func endCopy(giveUp reason: String?, timeout: Duration?) async throws(PostgresError) -> Int {
    defer { leaveExclusive() }
    while true {
      guard let libpq else { throw closeReason ?? PostgresError(.connection, "the connection was closed") }
      switch libpq.putCopyEnd(reason) {
      case 1: return try await awaitReply(timeout: timeout, isCancellable: reason == nil)?.affected ?? 0
      case 0: try await awaitFlush(timeout: timeout)
      default:
        lose()
        throw closeReason ?? PostgresError(.connection, "the connection was lost")
      }
    }
  }
}
