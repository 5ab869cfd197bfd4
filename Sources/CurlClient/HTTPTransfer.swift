internal import CCurl
import HTTPTypes
import Locking

/// One request, from submission until its task is resumed. libcurl's callbacks fill it.
///
/// `CurlMulti` retains it exactly as long as libcurl holds pointers to it.
final class HTTPTransfer: CurlTransfer, @unchecked Sendable {
  // `@unchecked Sendable`: the constants are Sendable, and `outcome` is a lock; every other field is touched only on
  // the event loop's thread.

  let call: HTTPCall
  private let configuration: HTTPClientConfiguration
  /// The source of the request's body, instead of memory.
  let upload: UploadFile?
  /// The destination of a 2xx response's body, instead of memory.
  private let download: DownloadFile?

  private(set) var head = ResponseHead()
  private var body: [UInt8] = []
  /// Whether the rest of the body was not wanted.
  private var isCut = false
  /// The error of a callback that refused data; libcurl reports only that one did.
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

  /// The largest body to accept, in bytes. A download's error response is kept in memory.
  var bodyLimit: Int { max(configuration.maximumBodyBytes, download?.limit ?? 0) }

  var cutsBody: Bool { configuration.cutsBodies }

  func prepare(_ handle: CurlHandle) -> CURLcode { handle.prepare(self, configuration) }

  func finish(_ code: CURLcode, _ handle: CurlHandle) -> HTTPClientError? {
    guard code == CURLE_OK || isCut else { return HTTPClientError(code, self, handle, configuration) }
    // libcurl takes a connection that ends within a head for the end of the response.
    guard head.isComplete else { return HTTPClientError(.transfer, "\(name): the response's head is cut off") }
    // libcurl 7.88 takes any number from a status line such as `HTTP/2 12345678`, and `HTTPResponse.Status` traps.
    guard 100...999 ~= handle.status else {
      return HTTPClientError(.transfer, "\(name): the response's status \(handle.status) is not one of HTTP")
    }
    let came = Outcome(status: handle.status, head: head, body: body)
    outcome.withLock { $0 = came }
    return nil
  }

  // MARK: Connection

  /// Whether to connect to an address, of 4 or 16 bytes. libcurl tries a host's other addresses if not.
  func mayConnect(to address: [UInt8]) -> Bool {
    guard let allows = configuration.allowsAddress, !allows(address) else {
      if refusal?.code == .forbiddenAddress { refusal = nil }
      return true
    }
    refusal = HTTPClientError(
      .forbiddenAddress, "\(name): the host's address is private or reserved: \(Self.text(of: address))")
    return false
  }

  private static func text(of address: [UInt8]) -> String {
    if address.count == 4 { return address.map(String.init).joined(separator: ".") }
    let groups = stride(from: 0, to: address.count - 1, by: 2).map { Int(address[$0]) << 8 | Int(address[$0 + 1]) }
    return groups.isEmpty ? "not an IP address" : groups.map { String($0, radix: 16) }.joined(separator: ":")
  }

  // MARK: Request

  /// Copies the next part of the body into a buffer.
  ///
  /// - Returns: the number of bytes, 0 at the end; nil if the file cannot be read.
  func sendBody(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    progress.lastMoved = .now
    do throws(HTTPClientError) {
      return try upload?.read(into: buffer) ?? 0
    } catch {
      refusal = error
      return nil
    }
  }

  // MARK: Response

  /// Takes one header line.
  ///
  /// - Returns: false if the head is too large.
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
  /// - Returns: false if the body is too large, or its file cannot be written.
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
    if configuration.cutsBodies {
      body.append(contentsOf: piece.prefix(configuration.maximumBodyBytes - body.count))
      isCut = true
      return false
    }
    refusal = .bodyTooLarge(name, configuration.maximumBodyBytes)
    return false
  }

  // MARK: Result

  private struct Outcome: Sendable {
    let status: Int
    let head: ResponseHead
    let body: [UInt8]
  }

  /// The result for the waiting task.
  private let outcome = Locked<Outcome?>(nil)

  /// The response. Read by the waiting task once resumed with success.
  func response() throws(HTTPClientError) -> (HTTPResponse, [UInt8]) {
    guard let came = outcome.withLock({ $0 }) else {
      throw HTTPClientError(.transfer, "\(call.name): ended without a response")
    }
    let fields = came.head.fields(isDecoded: call.method != "HEAD")
    return (HTTPResponse(status: HTTPResponse.Status(code: came.status), headerFields: fields), came.body)
  }
}
