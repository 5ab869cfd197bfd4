internal import CCurl
import Reactor

/// Something on its way, as `CurlMulti` carries it: a request, or a mail.
///
/// Made by the task that waits; what is below is called on the event loop's thread.
protocol CurlTransfer: AnyObject, Sendable {
  /// What errors call it.
  var name: String { get }
  var progress: TransferProgress { get set }

  /// Sets everything for it on a handle.
  ///
  /// - Returns: libcurl's complaint about an option; nothing may be sent then, since it may be one that protects.
  func prepare(_ handle: CurlHandle) -> CURLcode

  /// Takes over what came, now that libcurl is done.
  ///
  /// - Returns: why it failed; nil if it did not.
  func finish(_ code: CURLcode, _ handle: CurlHandle) -> HTTPClientError?
}

/// How far a transfer is.
struct TransferProgress {
  /// The libcurl handle that carries it; nil before and after.
  var handle: CurlHandle?
  var timer: TimerID?
  var deadline = ContinuousClock.now
  /// When something last came or went; nil while it has not left.
  var lastMoved: ContinuousClock.Instant?
  var sentBytes = 0
  fileprivate(set) var isSettled = false
  fileprivate var continuation: CheckedContinuation<HTTPClientError?, Never>?
}

extension CurlTransfer {
  /// Attaches the waiting task. A transfer that was cancelled before answers it at once.
  ///
  /// - Returns: whether it is still to be started.
  func begin(_ continuation: CheckedContinuation<HTTPClientError?, Never>) -> Bool {
    if progress.isSettled {
      continuation.resume(returning: cancelled)
      return false
    }
    progress.continuation = continuation
    return true
  }

  /// Resumes the waiting task, the first time it is called.
  func settle(_ error: HTTPClientError?) {
    if progress.isSettled { return }
    progress.isSettled = true
    progress.continuation?.resume(returning: error)
    progress.continuation = nil
  }

  var cancelled: HTTPClientError {
    HTTPClientError(.cancelled, "\(name): the task that waited was cancelled")
  }
}
