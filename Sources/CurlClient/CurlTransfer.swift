internal import CCurl
import Reactor

/// A transfer carried by `CurlMulti`: a request, or a mail.
///
/// Created by the waiting task; the members below are called on the event loop's thread.
protocol CurlTransfer: AnyObject, Sendable {
  /// The transfer's name in errors.
  var name: String { get }
  var progress: TransferProgress { get set }

  /// Sets all options for the transfer on a handle.
  ///
  /// - Returns: libcurl's error for an option. Nothing may be sent then, because the option may be a protective one.
  func prepare(_ handle: CurlHandle) -> CURLcode

  /// Takes the result once libcurl is done.
  ///
  /// - Returns: the reason for a failure; nil on success.
  func finish(_ code: CURLcode, _ handle: CurlHandle) -> HTTPClientError?
}

/// The progress of a transfer.
struct TransferProgress {
  /// The libcurl handle that carries it; nil before and after the transfer.
  var handle: CurlHandle?
  var timer: TimerID?
  var deadline = ContinuousClock.now
  /// The last time any data moved; nil until the request leaves.
  var lastMoved: ContinuousClock.Instant?
  var sentBytes = 0
  fileprivate(set) var isSettled = false
  fileprivate var continuation: CheckedContinuation<HTTPClientError?, Never>?
}

extension CurlTransfer {
  /// Attaches the waiting task. A transfer that is already cancelled resumes it immediately.
  ///
  /// - Returns: whether the transfer is still to be started.
  func begin(_ continuation: CheckedContinuation<HTTPClientError?, Never>) -> Bool {
    if progress.isSettled {
      continuation.resume(returning: cancelled)
      return false
    }
    progress.continuation = continuation
    return true
  }

  /// Resumes the waiting task on the first call.
  func settle(_ error: HTTPClientError?) {
    if progress.isSettled { return }
    progress.isSettled = true
    progress.continuation?.resume(returning: error)
    progress.continuation = nil
  }

  var cancelled: HTTPClientError {
    HTTPClientError(.cancelled, "\(name): the waiting task was cancelled")
  }
}
