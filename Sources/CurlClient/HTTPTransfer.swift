internal import CCurl
import HTTPTypes
import Locking

/// One request on its way, from the moment it is handed in until its task is told how it went: what libcurl's callbacks
/// fill.
///
/// `CurlMulti` keeps it for exactly as long as libcurl has pointers to it.
final class HTTPTransfer: CurlTransfer, @unchecked Sendable {
  // `@unchecked Sendable`: what is constant is Sendable itself, `outcome` is a lock; every other field is touched
  // on the event loop's thread only.

  let call: HTTPCall
  private let configuration: HTTPClientConfiguration
  /// What the request's body is read from, instead of memory.
  let upload: UploadFile?
  /// What the body of a response with 2xx goes to, instead of memory.
  private let download: DownloadFile?

  private(set) var head = ResponseHead()
  private var body: [UInt8] = []
  /// Why one of the callbacks refused what came; libcurl only says that one did.
  private(set) var refusal: HTTPClientError?

  var progress = TransferProgress()
  var name: String { call.name }

  init(
    _ call: HTTPCall, _ configuration: HTTPClientConfiguration, upload: UploadFile? = nil,
    download: DownloadFile? = nil
  ) {
    self.call = call
    self.configuration = configuration
    self.upload = upload
    self.download = download
  }

  /// The largest body that may come, in bytes. What a download's response says that is no success is kept in memory.
  var bodyLimit: Int { max(configuration.maximumBodyBytes, download?.limit ?? 0) }

  func prepare(_ handle: CurlHandle) -> CURLcode { handle.prepare(self, configuration) }

  func finish(_ code: CURLcode, _ handle: CurlHandle) -> HTTPClientError? {
    guard code == CURLE_OK else { return HTTPClientError(code, self, handle, configuration) }
    // libcurl takes a connection that ends within a head for the end of the response.
    guard head.isComplete else { return HTTPClientError(.transfer, "\(name): the response's head is cut off") }
    let came = Outcome(status: handle.status, head: head, body: body)
    outcome.withLock { $0 = came }
    return nil
  }

  // MARK: What goes

  /// Puts what comes next of the body into a buffer.
  ///
  /// - Returns: how many bytes, 0 at the end; nil if the file cannot be read.
  func sendBody(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    progress.lastMoved = .now
    do throws(HTTPClientError) {
      return try upload?.read(into: buffer) ?? 0
    } catch {
      refusal = error
      return nil
    }
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
  /// - Returns: false if there is too much, or the file that it goes to cannot take it.
  func receiveBody(_ piece: UnsafeRawBufferPointer) -> Bool {
    progress.lastMoved = .now
    if let download, let status = progress.handle?.status, 200..<300 ~= status {
      do throws(HTTPClientError) {
        try download.write(piece)
        return true
      } catch {
        refusal = error
        return false
      }
    }
    if body.count + piece.count <= configuration.maximumBodyBytes {
      body.append(contentsOf: piece)
      return true
    }
    refusal = .bodyTooLarge(name, configuration.maximumBodyBytes)
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
