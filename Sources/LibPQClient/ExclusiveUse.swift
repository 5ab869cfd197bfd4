import Reactor

/// One caller's use of a connection out of pipeline mode: a COPY or a script. Confined to the connection's loop.
final class ExclusiveUse {
  let id: UInt64
  /// What the server answered last, and the first error among its answers.
  private(set) var last: PostgresResult?
  private(set) var error: PostgresError?
  private(set) var isAwaitingReply = false
  var isCancelling = false
  private var reply: CheckedContinuation<PostgresError?, Never>?
  private var flush: CheckedContinuation<PostgresError?, Never>?

  init(id: UInt64) { self.id = id }

  func awaitReply(_ continuation: CheckedContinuation<PostgresError?, Never>) {
    isAwaitingReply = true
    reply = continuation
  }

  func awaitFlush(_ continuation: CheckedContinuation<PostgresError?, Never>) { flush = continuation }

  func received(_ result: PostgresResult, failed: Bool) {
    if failed { error = error ?? result.error } else { last = result }
  }

  /// The server has answered all that was asked.
  func replied() {
    isAwaitingReply = false
    // The signal that a cancel request is about may still be on its way: the connection is nobody else's before.
    guard !isCancelling else { return }
    reply?.resume(returning: error)
    reply = nil
  }

  func cancelArrived() {
    isCancelling = false
    if !isAwaitingReply { replied() }
  }

  /// Everything is written.
  func flushed() {
    flush?.resume(returning: nil)
    flush = nil
  }

  func fail(_ error: PostgresError) {
    self.error = self.error ?? error
    isAwaitingReply = false
    flush?.resume(returning: error)
    flush = nil
    reply?.resume(returning: self.error)
    reply = nil
  }
}
