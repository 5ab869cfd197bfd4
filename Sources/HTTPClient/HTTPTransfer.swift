import EventLoop
import HTTPTypes

/// One request on its way, from the moment it is handed in until its task is told how it went: what libcurl's callbacks
/// fill.
///
/// `CurlMulti` keeps it for exactly as long as libcurl has pointers to it.
final class HTTPTransfer: @unchecked Sendable {
  // `@unchecked Sendable`: `call` is a constant; every other field is touched on the event loop's thread only. What came
  // is also read by the waiting task, after it was resumed with success, when nobody writes it any more.

  let call: HTTPCall
  private let configuration: HTTPClientConfiguration

  private(set) var head = ResponseHead()
  private(set) var body: [UInt8] = []
  var status = 0
  /// Why one of the callbacks refused what came; libcurl only says that one did.
  private(set) var refusal: HTTPClientError?

  /// The libcurl handle that carries it; nil before and after.
  var handle: CurlHandle?
  var timer: TimerID?
  var deadline = ContinuousClock.now
  /// When something last came or went; nil while the request has not left.
  var lastMoved: ContinuousClock.Instant?
  var sentBytes = 0

  private(set) var isSettled = false
  private var continuation: CheckedContinuation<HTTPClientError?, Never>?

  init(_ call: HTTPCall, _ configuration: HTTPClientConfiguration) {
    self.call = call
    self.configuration = configuration
  }

  /// Attaches the waiting task. A transfer that was cancelled before answers it at once.
  ///
  /// - Returns: whether it is still to be started.
  func begin(_ continuation: CheckedContinuation<HTTPClientError?, Never>) -> Bool {
    if isSettled {
      continuation.resume(returning: Self.cancelled(call))
      return false
    }
    self.continuation = continuation
    return true
  }

  /// Resumes the waiting task, the first time it is called.
  func settle(_ error: HTTPClientError?) {
    if isSettled { return }
    isSettled = true
    continuation?.resume(returning: error)
    continuation = nil
  }

  // MARK: What comes

  /// Takes one line of a head.
  ///
  /// - Returns: false if there is too much.
  func receiveHead(_ line: UnsafeRawBufferPointer) -> Bool {
    lastMoved = .now
    head.append(line)
    if head.bytes.count <= configuration.maximumHeadBytes { return true }
    refusal = HTTPClientError(
      .transfer, "\(call.name): the response's head is larger than \(configuration.maximumHeadBytes) bytes")
    return false
  }

  /// Takes a piece of the body.
  ///
  /// - Returns: false if there is too much.
  func receiveBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    lastMoved = .now
    if body.count + piece.count <= configuration.maximumBodyBytes {
      body.append(contentsOf: piece)
      return true
    }
    refusal = .bodyTooLarge(call, configuration)
    return false
  }

  /// What came. Asked by the waiting task when it was resumed with success.
  var response: HTTPResponse {
    HTTPResponse(
      status: HTTPResponse.Status(code: status), headerFields: head.fields(isDecoded: call.method != "HEAD"))
  }

  static func cancelled(_ call: HTTPCall) -> HTTPClientError {
    HTTPClientError(.cancelled, "\(call.name): the task that waited was cancelled")
  }
}
