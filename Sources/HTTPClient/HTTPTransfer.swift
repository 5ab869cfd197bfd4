import EventLoop
import HTTPTypes
import Locking

/// One request on its way, from the moment it is handed in until its task is told how it went: what libcurl's callbacks
/// fill.
///
/// `CurlMulti` keeps it for exactly as long as libcurl has pointers to it.
final class HTTPTransfer: @unchecked Sendable {
  // `@unchecked Sendable`: `call` and `configuration` are constants, `outcome` is a lock; every other field is touched on
  // the event loop's thread only.

  let call: HTTPCall
  private let configuration: HTTPClientConfiguration

  private(set) var head = ResponseHead()
  private var body: [UInt8] = []
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

  // MARK: What came

  private struct Outcome: Sendable {
    let status: Int
    let head: ResponseHead
    let body: [UInt8]
  }

  private let outcome = Locked<Outcome?>(nil)

  /// Hands what came over to the waiting task.
  func complete(status: Int) {
    let came = Outcome(status: status, head: head, body: body)
    outcome.withLock { $0 = came }
  }

  /// What came. Asked by the waiting task when it was resumed with success.
  func response() throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    guard let came = outcome.withLock({ $0 }) else {
      throw HTTPClientError(.transfer, "\(call.name): ended without a response")
    }
    let fields = came.head.fields(isDecoded: call.method != "HEAD")
    return (HTTPResponse(status: HTTPResponse.Status(code: came.status), headerFields: fields), came.body)
  }

  static func cancelled(_ call: HTTPCall) -> HTTPClientError {
    HTTPClientError(.cancelled, "\(call.name): the task that waited was cancelled")
  }
}
