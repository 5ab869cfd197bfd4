internal import CCurl
import HTTPTypes
import Locking

/// One request on its way, from the moment it is handed in until its task is told how it went: what libcurl's callbacks
/// fill.
///
/// `CurlMulti` keeps it for exactly as long as libcurl has pointers to it.
final class HTTPTransfer: CurlTransfer, @unchecked Sendable {
  // `@unchecked Sendable`: `call` and `configuration` are constants, `outcome` is a lock; every other field is touched
  // on the event loop's thread only.

  let call: HTTPCall
  private let configuration: HTTPClientConfiguration

  private(set) var head = ResponseHead()
  private var body: [UInt8] = []
  /// Why one of the callbacks refused what came; libcurl only says that one did.
  private(set) var refusal: HTTPClientError?

  var progress = TransferProgress()
  var name: String { call.name }

  init(_ call: HTTPCall, _ configuration: HTTPClientConfiguration) {
    self.call = call
    self.configuration = configuration
  }

  func prepare(_ handle: CurlHandle) -> CURLcode { handle.prepare(self, configuration) }

  func finish(_ code: CURLcode, _ handle: CurlHandle) -> HTTPClientError? {
    guard code == CURLE_OK else { return HTTPClientError(code, self, handle, configuration) }
    // libcurl takes a connection that ends within a head for the end of the response.
    guard head.isComplete else { return HTTPClientError(.transfer, "\(name): the response's head is cut off") }
    let came = Outcome(status: handle.status, head: head, body: body)
    outcome.withLock { $0 = came }
    return nil
  }

  // MARK: What comes

  /// Takes one line of a head.
  ///
  /// - Returns: false if there is too much.
  func receiveHead(_ line: UnsafeRawBufferPointer) -> Bool {
    progress.lastMoved = .now
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
    progress.lastMoved = .now
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

  /// Handed over to the waiting task.
  private let outcome = Locked<Outcome?>(nil)

  /// What came. Asked by the waiting task when it was resumed with success.
  func response() throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    guard let came = outcome.withLock({ $0 }) else {
      throw HTTPClientError(.transfer, "\(call.name): ended without a response")
    }
    let fields = came.head.fields(isDecoded: call.method != "HEAD")
    return (HTTPResponse(status: HTTPResponse.Status(code: came.status), headerFields: fields), came.body)
  }
}
